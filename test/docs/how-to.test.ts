/** A new column type and a new token kind take the changes that their pages say, and no others: each page is followed in a copy of the sources. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
/** What the changed files import. Laws and samples import the sources of the copy. */
const COPIED = ['src', 'test/support', 'test/laws']

/** A block whose fence names a file: the file, or lines added to it. */
interface Change {
  readonly path: string
  readonly isNew: boolean
  readonly lines: readonly string[]
}

function changesOf(text: string): Change[] {
  return [...text.matchAll(/^```(ts|diff) (\S+\.ts)\n(.*?)\n```$/gms)].map(([, fence, path = '', body = '']) => ({
    path,
    isNew: fence === 'ts',
    lines: body.split('\n'),
  }))
}

/** Returns the text with the added lines, each behind the line that is above it in the change. */
function changed(text: string, { path, lines }: Change): string {
  const result = text.split('\n')
  let at = 0
  for (const line of lines) {
    if (line.startsWith('+')) result.splice(at++, 0, line.slice(1))
    else {
      const found = result.indexOf(line.slice(1), at)
      expect(found, `${path} has no line ${line} there`).toBeGreaterThanOrEqual(0)
      at = found + 1
    }
  }
  return result.join('\n')
}

/** Paths of the rows of the table of files, with the name of the new file in place of `<name>`. */
function listedFiles(text: string, newFile: string): string[] {
  const paths = [...text.matchAll(/^\| `(src\/[^`]+)` \|/gm)].map(([, path = '']) => path)
  return paths.map((path) => (path.includes('<name>') ? newFile : path))
}

/** A page, and how many files of `src` it says are touched. */
const PAGES = [
  { name: 'column-type', count: 4 },
  { name: 'token-kind', count: 3 },
].map((page) => {
  const text = readFileSync(join(ROOT, `docs/how-to/${page.name}.md`), 'utf8')
  return { ...page, text, changes: changesOf(text) }
})

/** Inside the project, so that its packages are found. */
let copy = ''

beforeAll(() => {
  mkdirSync(join(ROOT, '.examples'), { recursive: true })
  copy = mkdtempSync(join(ROOT, '.examples', 'how-to-'))
  for (const folder of COPIED) cpSync(join(ROOT, folder), join(copy, folder), { recursive: true })
  for (const change of PAGES.flatMap(({ changes }) => changes)) {
    const file = join(copy, change.path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, change.isNew ? `${change.lines.join('\n')}\n` : changed(readFileSync(file, 'utf8'), change))
  }
})

afterAll(() => rmSync(copy, { recursive: true, force: true }))

it.each(PAGES)('a $name is $count files of src, which its page lists', ({ count, text, changes }) => {
  const inSources = changes.filter(({ path }) => path.startsWith('src/'))
  const newFile = inSources.find(({ isNew }) => isNew)?.path ?? ''
  expect(inSources).toHaveLength(count)
  expect(inSources.map(({ path }) => path).sort()).toEqual(listedFiles(text, newFile).sort())
})

it('the changes of the pages compile, with the samples of the tests', () => {
  const include = ['src', ...PAGES.flatMap(({ changes }) => changes.map(({ path }) => path))]
  // The console has a compiler setting of its own, and none of these changes.
  const exclude = ['src/console', 'test/console', 'test/support/console']
  writeFileSync(join(copy, 'tsconfig.json'), JSON.stringify({ extends: '../../tsconfig.json', include, exclude }))
  const compiler = join(ROOT, 'node_modules/typescript-7/bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', copy], { encoding: 'utf8' })
  expect(status, stdout).toBe(0)
})

it.each(PAGES)('a vault has the $name of the page: its program runs', ({ changes }) => {
  const program = changes.find(({ path }) => path.startsWith('examples/'))?.path ?? ''
  const { status, stderr } = spawnSync(process.execPath, [join(copy, program)], { encoding: 'utf8', timeout: 100_000 })
  expect(status, stderr).toBe(0)
})

it('the column type of the page has the properties of all column types, with the samples of the page', async () => {
  const load = (path: string) => import(/* @vite-ignore */ pathToFileURL(join(copy, path)).href)
  const { columnTypeProperties } = await load('test/laws/column-types.ts')
  const { columnTypes } = await load('src/core/values/column-types.ts')
  const { columnTypeSamples } = await load('test/support/column-types/samples.ts')
  const properties = Object.values<(type: unknown, samples: unknown, runs: object) => void>(columnTypeProperties)
  expect(properties.length).toBeGreaterThan(5)
  for (const holds of properties) holds(columnTypes.YEAR_MONTH, columnTypeSamples.YEAR_MONTH, { seed: 1, numRuns: 300 })
})
