//! Fixture prompts, resources and completions.

use rmcp::{
    ErrorData,
    model::{
        CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock,
        GetPromptRequestParams, GetPromptResponse, GetPromptResult, ImageContent, Prompt,
        PromptArgument, PromptMessage, ReadResourceResult, Reference, Resource, ResourceContents,
        ResourceTemplate, Role,
    },
};

use super::{
    rounds,
    tools::{PNG, resource},
};

pub fn list_prompts() -> Vec<Prompt> {
    let plain = |name: &str, does: &str| Prompt::new(name, Some(format!("Fixture: {does}")), None);
    let arguments = vec![
        PromptArgument::new("arg1").with_description("First test argument").with_required(true),
        PromptArgument::new("arg2").with_description("Second test argument").with_required(true),
    ];
    vec![
        plain("test_simple_prompt", "one message"),
        Prompt::new(
            "test_prompt_with_arguments",
            Some("Fixture: two arguments".to_owned()),
            Some(arguments),
        ),
        Prompt::new(
            "test_prompt_with_embedded_resource",
            Some("Fixture: a message with a resource".to_owned()),
            Some(vec![
                PromptArgument::new("resourceUri")
                    .with_description("Resource to embed")
                    .with_required(true),
            ]),
        ),
        plain("test_prompt_with_image", "a message with an image"),
        plain("test_input_required_result_prompt", "asks before it answers"),
    ]
}

/// The messages of a fixture prompt, or `None` when `request` names none.
pub fn get_prompt(request: &GetPromptRequestParams) -> Option<GetPromptResponse> {
    let argument = |name: &str| {
        let given = request.arguments.as_ref().and_then(|arguments| arguments.get(name));
        given.and_then(|value| value.as_str()).unwrap_or_default()
    };
    let said = |text: &str| PromptMessage::new_text(Role::User, text);
    let shown = |block| PromptMessage::new(Role::User, block);
    let messages = match request.name.as_str() {
        "test_input_required_result_prompt" => return Some(rounds::prompt(request)),
        "test_simple_prompt" => vec![said("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let text = format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                argument("arg1"),
                argument("arg2")
            );
            vec![said(&text)]
        }
        "test_prompt_with_embedded_resource" => {
            vec![
                shown(resource(
                    argument("resourceUri"),
                    "text/plain",
                    "Embedded resource content for testing.",
                )),
                said("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => vec![
            shown(ContentBlock::Image(ImageContent::new(PNG, "image/png"))),
            said("Please analyze the image above."),
        ],
        _ => return None,
    };
    Some(GetPromptResult::new(messages).into())
}

pub fn list_resources() -> Vec<Resource> {
    vec![
        Resource::new("test://static-text", "Static text")
            .with_description("Fixture: a text")
            .with_mime_type("text/plain"),
        Resource::new("test://static-binary", "Static binary")
            .with_description("Fixture: an image")
            .with_mime_type("image/png"),
        Resource::new("test://watched-resource", "Watched")
            .with_description("Fixture: a resource to subscribe to")
            .with_mime_type("text/plain"),
    ]
}

pub fn list_resource_templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("test://template/{id}/data", "Template")
            .with_description("Fixture: an id in the middle of an address")
            .with_mime_type("application/json"),
    ]
}

/// The contents of a fixture resource, or `None` when `uri` names none.
pub fn read_resource(uri: &str) -> Option<ReadResourceResult> {
    let contents = match uri {
        "test://static-text" => {
            ResourceContents::text("This is the content of the static text resource.", uri)
                .with_mime_type("text/plain")
        }
        "test://static-binary" => ResourceContents::blob(PNG, uri).with_mime_type("image/png"),
        "test://watched-resource" => {
            ResourceContents::text("Watched.", uri).with_mime_type("text/plain")
        }
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data = serde_json::json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            ResourceContents::text(data.to_string(), uri).with_mime_type("application/json")
        }
    };
    Some(ReadResourceResult::new(vec![contents]))
}

/// Completions for a fixture's argument, or `None` when `request` is about something else.
pub fn complete(request: &CompleteRequestParams) -> Option<Result<CompleteResult, ErrorData>> {
    let ours = match &request.r#ref {
        Reference::Prompt(prompt) => prompt.name == "test_prompt_with_arguments",
        Reference::Resource(resource) => resource.uri.starts_with("test://"),
        _ => false,
    };
    ours.then(|| {
        let values: Vec<String> = ["test1", "test2", "paris", "park"]
            .into_iter()
            .filter(|value| value.starts_with(request.argument.value.as_str()))
            .map(str::to_owned)
            .collect();
        CompletionInfo::new(values)
            .map(CompleteResult::new)
            .map_err(|error| ErrorData::internal_error(error, None))
    })
}
