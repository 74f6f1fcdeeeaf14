/** Entry points whose packages are not installed: each error names the command that installs them. */
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { missingPackageError } from '../../../src/adapters/packages/missing-package.ts'
import { requirePackage } from '../../../src/adapters/packages/require-package.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../../..')

it('a package that is not installed is named with the command that installs it', async () => {
  const imports = ['scripts/resolve-sources.ts', 'test/adapters/packages/hide-packages.ts'].flatMap((file) => [
    '--import',
    `./${file}`,
  ])
  const { stdout } = await run(process.execPath, [...imports, 'test/package/missing-packages.ts'], { cwd: ROOT })
  const errors = Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => [JSON.parse(line).name, JSON.parse(line)]),
  )
  for (const [name, wanted] of Object.entries({
    sqliteStorage:
      /^sqliteStorage needs the package better-sqlite3, which is not installed. Run: npm install better-sqlite3. Or pass driver: 'node:sqlite'/,
    postgresStorage: /^postgresStorage needs the package pg, which is not installed. Run: npm install pg.$/,
    s3Blobs: /Run: npm install @aws-sdk\/client-s3.$/,
    openTelemetry: /Run: npm install @opentelemetry\/api. Or pass tracer:/,
  })) {
    expect(errors[name]).toMatchObject({ code: 'failed_precondition', message: expect.stringMatching(wanted) })
  }
})

it('a package that is installed and fails to load is not called missing', () => {
  const inner = Object.assign(new Error("Cannot find package 'pg-types'"), { code: 'ERR_MODULE_NOT_FOUND' })
  expect(missingPackageError({ user: 'postgresStorage', name: 'pg' }, inner).message).toMatch(/is installed and cannot be loaded/)
  expect(missingPackageError({ user: 'postgresStorage', name: 'pg' }, 'TEST_SECRET').message).not.toContain('SECRET')
})

it('a package that is installed is loaded, and once', () => {
  const loaded = requirePackage({ user: 'sqliteStorage', name: 'better-sqlite3' })
  expect(loaded).toBe(createRequire(import.meta.url)('better-sqlite3'))
  expect(requirePackage({ user: 'sqliteStorage', name: 'better-sqlite3' })).toBe(loaded)
})
