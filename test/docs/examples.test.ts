/** Every TypeScript example in the README and the docs runs, and prints what its comments say it prints. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect, inject, it } from 'vitest'
import { ENTRY_POINTS } from '../../scripts/entry-points.ts'
import { builtPackage } from '../support/cli/built-command.ts'
import { allExamples, promisesOf } from '../support/examples/examples-of.ts'
import { freshDatabase } from '../support/postgres/fresh-database.ts'

const ROOT = join(import.meta.dirname, '../..')

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

const examples = allExamples()

it('finds examples', () => {
  expect(examples.some(({ page }) => page === 'README.md')).toBe(true)
})

it.each(examples.map((example) => [`${example.page}:${example.line}`, example] as const))(
  '%s runs as it says',
  async (_where, { page, code, needsPostgres }) => {
    // Inside the project, so that its packages are found; in a folder of its own, so that its files are its own.
    const parent = join(ROOT, '.examples')
    mkdirSync(parent, { recursive: true })
    const folder = mkdtempSync(join(parent, 'run-'))
    const workplace = mkdtempSync(join(tmpdir(), 'strongroom-example-'))
    const database = needsPostgres ? await freshDatabase(inject('postgresUrl')) : undefined
    try {
      const file = join(folder, 'example.ts')
      const usesRunner = code.includes("from 'vitest'")
      const usesSources = usesRunner || code.includes("from '../../src/")
      writeFileSync(file, usesSources ? againstSources(code) : code)
      const command = usesRunner
        ? [
            join(ROOT, 'node_modules/vitest/vitest.mjs'),
            'run',
            '--config',
            join(ROOT, 'test/support/reporting/example.config.ts'),
            relative(ROOT, file),
          ]
        : [...(usesSources ? [] : builtPackage()), file]
      // A newcomer runs the example of the README again, with the files that the first run left.
      for (let run = 0; run < (page === 'README.md' ? 2 : 1); run++) {
        const { status, stdout, stderr } = spawnSync(process.execPath, command, {
          cwd: usesRunner ? ROOT : workplace,
          encoding: 'utf8',
          env: { ...process.env, ...(database === undefined ? {} : { DATABASE_URL: database.url }) },
          timeout: 200_000,
        })
        expect(status, stderr + stdout).toBe(0)
        const promises = promisesOf(code)
        if (promises.length > 0) expect(stdout.trim().split('\n')).toEqual(promises)
      }
    } finally {
      await database?.drop()
      rmSync(folder, { recursive: true, force: true })
      rmSync(workplace, { recursive: true, force: true })
    }
  },
)
