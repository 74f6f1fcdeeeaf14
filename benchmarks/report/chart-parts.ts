/** What the charts share: their colors in light and dark, and the frame of an SVG document. */
import type { Result, StorageName } from './result-shape.ts'

export const STORAGE_HEADINGS: Readonly<Record<StorageName, string>> = {
  sqlite: 'SQLite',
  postgres: 'PostgreSQL',
  memory: 'In memory',
  none: 'Without storage',
}

/** The colors for a viewer that prefers light. Each has a contrast of 4.5 at least with the paper. */
const LIGHT = {
  paper: '#ffffff',
  band: '#f6f8fa',
  ink: '#1f2328',
  faint: '#59636e',
  line: '#d1d9e0',
  met: '#0969da',
  missed: '#bc4c00',
  third: '#8250df',
}
type Colors = typeof LIGHT

/** The same for dark. */
const DARK: Colors = {
  paper: '#0d1117',
  band: '#161b22',
  ink: '#f0f6fc',
  faint: '#9198a1',
  line: '#3d444d',
  met: '#4493f8',
  missed: '#f0883e',
  third: '#ab7df8',
}

/** Returns the rules that color a chart. They have no variables, which many viewers do not know: those draw every shape black. */
function colored({ paper, band, ink, faint, line, met, missed, third }: Colors): string {
  return `text { fill: ${ink} }
.faint { fill: ${faint} }
.paper { fill: ${paper} }
.band { fill: ${band} }
.met { fill: ${met} }
.missed { fill: ${missed} }
.plain { fill: ${faint} }
.other { fill: ${third} }
.cpu { fill: ${ink}; stroke: ${paper} }
.line { stroke: ${line} }
.goal { stroke: ${ink} }
.sqlite { stroke: ${met} }
.postgres { stroke: ${missed} }
.memory, .none { stroke: ${third} }`
}

const STYLE = `<style>
text { font: 12px system-ui, sans-serif }
.head { font-size: 15px; font-weight: 600 }
.group { font-weight: 600 }
.line { stroke-width: 1 }
.goal { stroke-width: 1.5 }
.sqlite, .postgres, .memory, .none { fill: none; stroke-width: 2 }
.postgres { stroke-dasharray: 6 3 }
.memory, .none { stroke-dasharray: 2 3 }
${colored(LIGHT)}
@media (prefers-color-scheme: dark) {
${colored(DARK)}
}
</style>`

/** The parts of a chart that its content decides. */
export interface Frame {
  readonly width: number
  readonly height: number
  readonly title: string
  /** The content as a sentence, for readers that do not see it. */
  readonly description: string
  /** Lines of text at the top. */
  readonly heading: string
  readonly notes: readonly string[]
}

/** Returns the SVG text. `body` is drawn below the heading. */
export function svgDocument({ width, height, title, description, heading, notes }: Frame, body: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title about">`,
    `<title id="title">${escapeXml(title)}</title>`,
    `<desc id="about">${escapeXml(description)}</desc>`,
    STYLE,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    `<text class="head" x="12" y="24">${escapeXml(heading)}</text>`,
    ...notes.map((note, index) => `<text class="faint" x="12" y="${44 + 18 * index}">${escapeXml(note)}</text>`),
    ...body,
    '</svg>',
    '',
  ].join('\n')
}

/** Returns the machine and the commit of a result. */
export function originOf({ machine, commit }: Result): string {
  return `${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, commit ${commit}`
}

export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
