/** Every TypeScript example in the README and the docs runs, and prints what its comments say it prints. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect, inject, it } from 'vitest'
import { ENTRY_POINTS } from '../../scripts/entry-points.ts'
import { freshDatabase } from '../support/postgres/fresh-database.ts'

const ROOT = join(import.meta.dirname, '../..')

interface Example {
  readonly page: string
  readonly line: number
  readonly code: string
  /** The fence is `ts postgres`: an empty database is at DATABASE_URL of the environment. */
  readonly needsPostgres: boolean
}

/** The `ts` blocks of a page. A block that begins with `// continues` belongs to the one before it. */
function examplesOf(page: string): Example[] {
  const examples: Example[] = []
  const text = readFileSync(join(ROOT, page), 'utf8')
  for (const match of text.matchAll(/^```ts( postgres)?\n(.*?)^```/gms)) {
    const [, needs, code = ''] = match
    const last = examples[examples.length - 1]
    if (last !== undefined && code.startsWith('// continues')) examples[examples.length - 1] = { ...last, code: last.code + code }
    else examples.push({ page, line: text.slice(0, match.index).split('\n').length, code, needsPostgres: needs !== undefined })
  }
  return examples
}

/** The same code, importing the sources in place of the package. */
function againstSources(code: string): string {
  const entryPoints = new Map(
    Object.entries(ENTRY_POINTS).map(([entryPoint, source]) => [
      entryPoint === '.' ? 'strongroom' : `strongroom/${entryPoint.slice(2)}`,
      source,
    ]),
  )
  const named = code.replace(/from '(strongroom[^']*)'/g, (whole, name: string) => {
    const source = entryPoints.get(name)
    return source === undefined ? whole : `from '${join(ROOT, source)}'`
  })
  return named.replaceAll("from '../../src/", `from '${ROOT}/src/`)
}

/** What the comments behind `console.log(…) //` say will be printed. */
function promisesOf(code: string): string[] {
  return [...code.matchAll(/^\s*console\.log\(.*\) \/\/ (.*)$/gm)].map((match) => match[1] ?? '')
}

const pages = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
]
const examples = pages.flatMap(examplesOf)

it('finds examples', () => {
  expect(examples.some(({ page }) => page === 'README.md')).toBe(true)
})

it.each(examples.map((example) => [`${example.page}:${example.line}`, example] as const))(
  '%s runs as it says',
  async (_where, { code, needsPostgres }) => {
    // Inside the project, so that its packages are found; in a folder of its own, so that its files are its own.
    const parent = join(ROOT, '.examples')
    mkdirSync(parent, { recursive: true })
    const folder = mkdtempSync(join(parent, 'run-'))
    const workplace = mkdtempSync(join(tmpdir(), 'strongroom-example-'))
    const database = needsPostgres ? await freshDatabase(inject('postgresUrl')) : undefined
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
        cwd: usesRunner ? ROOT : workplace,
        encoding: 'utf8',
        env: { ...process.env, ...(database === undefined ? {} : { DATABASE_URL: database.url }) },
        timeout: 60_000,
      })
      expect(status, stderr + stdout).toBe(0)
      const promises = promisesOf(code)
      if (promises.length > 0) expect(stdout.trim().split('\n')).toEqual(promises)
    } finally {
      await database?.drop()
      rmSync(folder, { recursive: true, force: true })
      rmSync(workplace, { recursive: true, force: true })
    }
  },
)
