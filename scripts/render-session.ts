/** Runs an example and renders its terminal session as an SVG: node scripts/render-session.ts docs/quickstart.svg quickstart */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [target = 'docs/quickstart.svg', example = 'quickstart'] = process.argv.slice(2)
/** The name of the example in package.json. */
const script = example.replace('-', ':')

const CHARACTER_WIDTH = 7.8
const LINE_HEIGHT = 18
const PADDING = 20
const BAR = 34
/** Maximum characters per line. Longer lines are cut. */
const MAX_LINE_LENGTH = 128

/** SVG attributes for the escape codes that the examples print. */
const STYLES: Readonly<Record<string, string>> = { '1': 'font-weight="700" fill="#ffffff"', '36': 'fill="#7fd4d0"' }

const { stdout, stderr, status } = spawnSync(
  process.execPath,
  ['--import', join(import.meta.dirname, 'resolve-sources.ts'), join(import.meta.dirname, `../examples/${example}.ts`)],
  { encoding: 'utf8', env: { ...process.env, FORCE_COLOR: '1', NO_COLOR: undefined } },
)
if (status !== 0) throw new Error(`The example failed:\n${stderr}`)

const lines = [
  `$ npm run ${script}`,
  ...stdout
    .replace(/\/\S*(strongroom-[a-z]+)-\w+/g, '/tmp/$1')
    .trimEnd()
    .split('\n'),
]
const width = Math.ceil(
  Math.min(MAX_LINE_LENGTH, Math.max(...lines.map((line) => plain(line).length))) * CHARACTER_WIDTH + 2 * PADDING,
)
const height = BAR + lines.length * LINE_HEIGHT + 2 * PADDING
writeFileSync(target, render())

function render(): string {
  const texts = lines.map(
    (line, index) =>
      `<text x="${PADDING}" y="${BAR + PADDING + index * LINE_HEIGHT + 12}" xml:space="preserve">${spans(line)}</text>`,
  )
  const lights = ['#ff5f57', '#febc2e', '#28c840'].map(
    (fill, index) => `<circle cx="${PADDING + index * 20}" cy="17" r="6" fill="${fill}"/>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="A terminal session of npm run ${script}">
<rect width="${width}" height="${height}" rx="10" fill="#15202b"/>
${lights.join('')}
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="#d7dde4">
${texts.join('\n')}
</g>
</svg>
`
}

/** Returns one line as spans with the style of its escape codes, cut at `MAX_LINE_LENGTH`. */
function spans(line: string): string {
  let style = ''
  let space = MAX_LINE_LENGTH
  return line
    .split('\u001b[')
    .map((part, index) => {
      const [, code = '', text = ''] = index === 0 ? [part, '', part] : (/^(\d+)m(.*)$/s.exec(part) ?? [part, '', part])
      if (index > 0) style = STYLES[code] ?? ''
      const shown = text.length > space ? `${text.slice(0, Math.max(0, space - 1))}…` : text
      space -= shown.length
      return shown === '' ? '' : `<tspan ${style}>${escaped(shown)}</tspan>`
    })
    .join('')
}

function plain(line: string): string {
  return line
    .split('\u001b[')
    .map((part, index) => (index === 0 ? part : part.replace(/^\d+m/, '')))
    .join('')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
