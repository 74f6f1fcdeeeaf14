/** The style of the reference page, and the content policy that allows this style and nothing else. */
import { createHash } from 'node:crypto'

/** The style, exactly as the page has it. Light or dark as the reader's system is. */
export const REFERENCE_STYLE = `
:root { color-scheme: light dark; --ink: #1d2430; --dim: #5b6472; --line: #d9dee6; --soft: #f4f6f9; --link: #0b57b7; --paper: #fff }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ee; --dim: #9aa4b2; --line: #333b47; --soft: #1b2129; --link: #7ab4ff; --paper: #12161c }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif }
.page { display: grid; grid-template-columns: minmax(14rem, 19rem) minmax(0, 1fr) }
nav { border-right: 1px solid var(--line); padding: 1.5rem 1rem; font-size: .9rem; position: sticky; top: 0; height: 100vh; overflow: auto }
nav ul { list-style: none; margin: 0 0 1rem; padding: 0 }
nav li { margin: .15rem 0; overflow-wrap: anywhere }
main { padding: 1.5rem 2rem 6rem; max-width: 62rem }
a { color: var(--link) }
nav a { text-decoration: none }
h1 { font-size: 1.8rem; margin: 0 0 1rem }
h2 { margin: 3rem 0 .5rem; border-bottom: 1px solid var(--line) }
h3 { margin: 2.5rem 0 .25rem; font-size: 1.1rem }
h4 { margin: 1.25rem 0 .25rem; font-size: .8rem; letter-spacing: .04em; text-transform: uppercase; color: var(--dim) }
code, pre { font: .875em/1.5 ui-monospace, Consolas, monospace }
code { overflow-wrap: anywhere }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .75rem 1rem; overflow: auto; margin: .25rem 0 }
table { border-collapse: collapse; width: 100%; font-size: .9rem }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line) }
th { color: var(--dim); font-weight: 600 }
ul.paths { list-style: none; margin: .25rem 0; padding: 0 }
.method { display: inline-block; min-width: 4rem; font-weight: 700 }
.note { display: inline-block; border: 1px solid var(--line); border-radius: 4px; padding: 0 .4rem; font-size: .8rem; color: var(--dim) }
.dim { color: var(--dim) }
@media (max-width: 56rem) {
  .page { display: block }
  nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line) }
  main { padding: 1rem }
}
`

/** The policy of the page: this style by its digest, no script, and nothing from elsewhere. */
export const REFERENCE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(REFERENCE_STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
