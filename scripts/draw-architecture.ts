/** Draws the modules of `src` and their imports as an SVG: npm run draw */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LAYERS } from '../test/support/architecture/module-plan.ts'
import { readSourceFile } from '../test/support/architecture/module-reader.ts'

const TOP = join(import.meta.dirname, '..')
/** The committed picture. */
export const PICTURE = join(TOP, 'docs/architecture.svg')

/** What fits a screen, in pixels: test/docs/architecture-picture.test.ts holds the picture to it. */
export const SCREEN = { width: 1200, height: 800 }

const ROW = 10
const COLUMN = 20
const GAP = 3
const BOX_LEFT = 98
const BOX_WIDTH = 156
const MATRIX_LEFT = 266
const HEAD = 96
const PADDING = 12

/** One module: a folder or a file of `src/core`, an adapter, or another part of `src`. */
interface Module {
  readonly name: string
  /** Number of source files. */
  files: number
  /** Number of files that import each other module, by its name. */
  readonly imports: Map<string, number>
}

/** Modules in one row of the picture. They do not import each other, except adapters. */
interface Layer {
  readonly title: string
  readonly modules: readonly Module[]
}

/** Returns the SVG text for the sources as they are now. */
export function drawArchitecture(): string {
  const layers = layersOf(readModules())
  const modules = layers.flatMap((layer) => layer.modules)
  const imported = new Set(modules.flatMap(({ imports }) => [...imports.keys()]))
  const columns = modules.filter(({ name }) => imported.has(name))
  const rows = placeRows(layers)
  const width = MATRIX_LEFT + columns.length * COLUMN + PADDING
  const height = HEAD + layers.reduce((sum, layer) => sum + layer.modules.length * ROW + GAP, 0) + PADDING
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title about">`,
    '<title id="title">Modules of strongroom and their imports</title>',
    `<desc id="about">${describe(modules)}</desc>`,
    STYLE,
    `<rect class="paper" width="${width}" height="${height}" rx="10"/>`,
    ...drawLegend(),
    ...rows.flatMap((row) => drawLayer(row, width)),
    ...columns.map(({ name }, index) => drawColumn(name, index, height)),
    ...rows.flatMap((row) => row.layer.modules.flatMap((module, index) => drawModule(module, row.top + index * ROW, columns))),
    '</svg>',
    '',
  ].join('\n')
}

/** Reads the imports of every source file and adds them up by module. */
function readModules(): Map<string, Module> {
  const modules = new Map<string, Module>()
  const paths = readdirSync(join(TOP, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => `src/${path.replaceAll('\\', '/')}`)
    .sort()
  for (const path of paths) {
    const name = nameOf(path)
    const module = modules.get(name) ?? { name, files: 0, imports: new Map<string, number>() }
    modules.set(name, module)
    module.files += 1
    const targets = readSourceFile(path, readFileSync(join(TOP, path), 'utf8')).imports.map(({ target }) => target)
    const others = new Set(targets.filter((target) => target !== undefined).map(nameOf))
    others.delete(name)
    // The command imports entry points only, as any application does: a column for each adapter would say no more.
    if (name === 'cli') others.clear()
    for (const other of others) module.imports.set(other, (module.imports.get(other) ?? 0) + 1)
  }
  return modules
}

/** `src/core/values/x.ts` is in `values`, `src/adapters/sql/x.ts` in `adapters/sql`, `src/index.ts` in `index`. */
function nameOf(path: string): string {
  const [, first = '', second = ''] = path.split('/')
  if (first === 'core') return second.replace(/\.ts$/, '')
  return first === 'adapters' ? `${first}/${second}` : first.replace(/\.ts$/, '')
}

/** Layers from the top of the picture to the bottom: every import goes down. Modules that core's plan does not list come first. */
function layersOf(modules: ReadonlyMap<string, Module>): Layer[] {
  const planned = new Set(LAYERS.flat())
  const [adapters, entries] = partition(
    [...modules.values()].filter(({ name }) => !planned.has(name)),
    ({ name }) => name.startsWith('adapters/'),
  )
  const core = LAYERS.map((names, index) => ({
    title: `layer ${index}`,
    modules: names.map((name) => modules.get(name)).filter((module) => module !== undefined),
  }))
  return [
    { title: 'entry points', modules: importersFirst(entries) },
    { title: 'adapters', modules: importersFirst(adapters) },
    ...core.toReversed().filter((layer) => layer.modules.length > 0),
  ]
}

/** Sorts modules so that each comes before those it imports, otherwise by name. */
function importersFirst(modules: readonly Module[]): Module[] {
  const sorted: Module[] = []
  let rest = modules.toSorted((left, right) => (left.name < right.name ? -1 : 1))
  while (rest.length > 0) {
    const free = rest.find(({ name }) => !rest.some(({ imports }) => imports.has(name)))
    if (free === undefined) throw new Error(`These modules import each other: ${rest.map(({ name }) => name).join(', ')}.`)
    sorted.push(free)
    rest = rest.filter((module) => module !== free)
  }
  return sorted
}

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))]
}

/** A layer and the vertical position of its first module. */
interface LayerRow {
  readonly layer: Layer
  readonly top: number
}

function placeRows(layers: readonly Layer[]): LayerRow[] {
  let top = HEAD
  return layers.map((layer) => {
    const row = { layer, top }
    top += layer.modules.length * ROW + GAP
    return row
  })
}

function describe(modules: readonly Module[]): string {
  return modules.map(({ name, imports }) => `${name} imports ${[...imports.keys()].sort().join(', ') || 'nothing'}.`).join(' ')
}

function drawLegend(): string[] {
  const lines = [
    'Each row is a module, with its number of files.',
    'A cell says how many of them import the',
    'module named at the top. Every import goes',
    'down: nothing is left of the gray diagonal.',
  ]
  return [
    `<text class="head" x="${PADDING}" y="24">Modules and their imports</text>`,
    ...lines.map((line, index) => `<text class="faint" x="${PADDING}" y="${42 + index * 14}">${line}</text>`),
  ]
}

/** The name of an imported module, written upwards, and a line down to the last row. */
function drawColumn(name: string, index: number, height: number): string {
  const x = MATRIX_LEFT + index * COLUMN + COLUMN / 2
  return (
    `<path class="guide" d="M${x} ${HEAD - 4}V${height - PADDING}"/>` +
    `<text transform="translate(${x + 4} ${HEAD - 7}) rotate(-90)">${name.replace('adapters/', '')}</text>`
  )
}

function drawLayer({ layer, top }: LayerRow, width: number): string[] {
  const height = layer.modules.length * ROW
  return [
    `<rect class="band" x="${PADDING / 2}" y="${top - 1}" width="${width - PADDING}" height="${height + 2}" rx="3"/>`,
    `<text class="faint" x="${PADDING}" y="${top + height / 2 + 4}">${layer.title}</text>`,
  ]
}

/** The box of a module, and one cell for each module it imports. */
function drawModule({ name, files, imports }: Module, top: number, columns: readonly Module[]): string[] {
  const middle = top + ROW / 2 + 3
  const cells = columns.flatMap((column, index) => {
    const x = MATRIX_LEFT + index * COLUMN
    if (column.name === name) return [`<rect class="self" x="${x + 6}" y="${top + 1}" width="8" height="8" rx="2"/>`]
    const count = imports.get(column.name)
    if (count === undefined) return []
    return [
      `<rect class="cell" x="${x + 1}" y="${top + 1}" width="${COLUMN - 2}" height="${ROW - 2}" rx="2"/>` +
        `<text class="count" x="${x + COLUMN / 2}" y="${middle}">${count}</text>`,
    ]
  })
  return [
    `<rect class="box" x="${BOX_LEFT}" y="${top + 0.5}" width="${BOX_WIDTH}" height="${ROW - 1}" rx="2"/>` +
      `<text x="${BOX_LEFT + 8}" y="${middle}">${name}</text>` +
      `<text class="files" x="${BOX_LEFT + BOX_WIDTH - 8}" y="${middle}">${files}</text>`,
    ...cells,
  ]
}

const STYLE = `<style>
text { font: 10px system-ui, sans-serif; fill: #1f2328 }
.head { font-size: 15px; font-weight: 600 }
.faint { fill: #59636e }
.files { fill: #59636e; text-anchor: end }
.count { font-size: 9px; text-anchor: middle }
.paper { fill: #ffffff; stroke: #d1d9e0 }
.band { fill: #f0f3f6 }
.box { fill: #ffffff; stroke: #8c959f }
.cell { fill: #b6dbff }
.self { fill: #c4ccd4 }
.guide { stroke: #e3e8ec; fill: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.faint, .files { fill: #9aa4ae }
.paper { fill: #0d1117; stroke: #3d444d }
.band { fill: #171d25 }
.box { fill: #0d1117; stroke: #656c76 }
.cell { fill: #1c4f86 }
.self { fill: #4b545e }
.guide { stroke: #232a32 }
}
</style>`

if (process.argv[1] === import.meta.filename) writeFileSync(PICTURE, drawArchitecture())
