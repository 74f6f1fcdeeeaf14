/** Entry points whose packages are not installed: each error names the command that installs them. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { missingPackageError, requirePackage } from '../../../src/adapters/packages/require-package.ts'

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
    awsKmsKeys:
      /^awsKmsKeys needs the package @aws-sdk\/client-kms, which is not installed. Run: npm install @aws-sdk\/client-kms.$/,
    openTelemetry: /Run: npm install @opentelemetry\/api. Or pass tracer:/,
  })) {
    expect(errors[name]).toMatchObject({ code: 'failed_precondition', message: expect.stringMatching(wanted) })
  }
})

it('a package in the working directory of the process is not run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'packages-'))
  const program = mkdtempSync(join(tmpdir(), 'program-'))
  try {
    mkdirSync(join(folder, 'node_modules/foreign'), { recursive: true })
    writeFileSync(join(folder, 'node_modules/foreign/index.js'), 'console.log("the foreign package ran")')
    const file = join(program, 'program.ts')
    const load = pathToFileURL(join(ROOT, 'src/adapters/packages/require-package.ts')).href
    writeFileSync(
      file,
      `import { requirePackage } from '${load}'\ntry { requirePackage({ user: 'f', name: 'foreign' }) } catch (error) { console.log(error.code) }`,
    )
    const hooks = pathToFileURL(join(ROOT, 'scripts/resolve-sources.ts')).href
    const ran = await run(process.execPath, ['--import', hooks, file], { cwd: folder })
    expect(ran.stdout.trim()).toBe('failed_precondition')
    // Beside the program it is found, as behind a bundler that moved the library.
    cpSync(join(folder, 'node_modules'), join(program, 'node_modules'), { recursive: true })
    expect((await run(process.execPath, ['--import', hooks, file], { cwd: folder })).stdout.trim()).toBe(
      'the foreign package ran',
    )
  } finally {
    for (const made of [folder, program]) rmSync(made, { recursive: true, force: true })
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
