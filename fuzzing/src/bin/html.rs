#![no_main]

notewell_fuzz::fuzz!(notewell_fuzz::targets::markup::html);
