/** Every TypeScript example in the README and the docs runs, and prints what its comments say. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { ENTRY_POINTS } from '../../scripts/entry-points.ts'

const ROOT = join(import.meta.dirname, '../..')

interface Example {
  readonly page: string
  readonly line: number
  readonly code: string
}

/** The `ts` blocks of a page. A block that starts with `// continues` is appended to the one before it. */
function examplesOf(page: string): Example[] {
  const examples: Example[] = []
  const text = readFileSync(join(ROOT, page), 'utf8')
  for (const match of text.matchAll(/^```ts\n(.*?)^```/gms)) {
    const code = match[1] ?? ''
    const last = examples[examples.length - 1]
    if (last !== undefined && code.startsWith('// continues')) examples[examples.length - 1] = { ...last, code: last.code + code }
    else examples.push({ page, line: text.slice(0, match.index).split('\n').length, code })
  }
  return examples
}

/** The same code with imports of the sources in place of the package. */
function againstSources(code: string): string {
  const sources = new Map(
    Object.entries(ENTRY_POINTS).map(([entry, source]) => [
      entry === '.' ? 'strongroom' : `strongroom/${entry.slice(2)}`,
      source,
    ]),
  )
  const named = code.replace(/from '(strongroom[^']*)'/g, (whole, name: string) => {
    const source = sources.get(name)
    return source === undefined ? whole : `from '${join(ROOT, source)}'`
  })
  return named.replaceAll("from '../../src/", `from '${ROOT}/src/`)
}

/** The output that the comments behind `console.log(…) //` name, one line each. */
function expectedOutputOf(code: string): string[] {
  return [...code.matchAll(/^\s*console\.log\(.*\) \/\/ (.*)$/gm)].map((match) => match[1] ?? '')
}

const pages = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
]
const examples = pages.flatMap(examplesOf)

test('README.md has an example', () => {
  expect(examples.some(({ page }) => page === 'README.md')).toBe(true)
})

test.each(examples.map((example) => [`${example.page}:${example.line}`, example] as const))(
  '%s runs and prints what its comments say',
  (_where, { code }) => {
    // Inside the project, so that its packages are found, and in a folder of its own.
    const parent = join(ROOT, '.examples')
    mkdirSync(parent, { recursive: true })
    const folder = mkdtempSync(join(parent, 'run-'))
    const workFolder = mkdtempSync(join(tmpdir(), 'strongroom-example-'))
    try {
      const file = join(folder, 'example.ts')
      writeFileSync(file, againstSources(code))
      const usesRunner = code.includes("from 'vitest'")
      const command = usesRunner
        ? [
            join(ROOT, 'node_modules/vitest/vitest.mjs'),
            'run',
            '--config',
            join(ROOT, 'test/support/reporting/example.config.ts'),
            relative(ROOT, file),
          ]
        : [file]
      const { status, stdout, stderr } = spawnSync(process.execPath, command, {
        cwd: usesRunner ? ROOT : workFolder,
        encoding: 'utf8',
        timeout: 60_000,
      })
      expect(status, stderr + stdout).toBe(0)
      const expected = expectedOutputOf(code)
      if (expected.length > 0) expect(stdout.trim().split('\n')).toEqual(expected)
    } finally {
      rmSync(folder, { recursive: true, force: true })
      rmSync(workFolder, { recursive: true, force: true })
    }
  },
)
