/** What docs/testing.md and docs/runtimes.md show for the built package runs with it: Jest, CommonJS and bundlers. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { buildPackage } from '../../benchmarks/runner/build-package.ts'
import { required } from '../../src/core/util/lists.ts'

// A build and webpack take a while on a busy machine.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

const ROOT = join(import.meta.dirname, '../..')
let folder = ''

/** A project inside the repository, so that its packages are found, with the built package among its own. */
beforeAll(() => {
  mkdirSync(join(ROOT, '.examples'), { recursive: true })
  folder = mkdtempSync(join(ROOT, '.examples/run-'))
  const installed = join(folder, 'node_modules/strongroom')
  mkdirSync(installed, { recursive: true })
  copyFileSync(join(ROOT, 'package.json'), join(installed, 'package.json'))
  symlinkSync(buildPackage(), join(installed, 'dist'))
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The block of a page whose fence says `js <name>`. */
function blockOf(page: string, name: string): string {
  const text = readFileSync(join(ROOT, 'docs', page), 'utf8')
  return required(
    new RegExp(`^\`\`\`js ${name.replaceAll('.', '\\.')}\\n(.*?)^\`\`\``, 'ms').exec(text)?.[1],
    `js ${name} in ${page}`,
  )
}

/** Runs a program of Node in the project. Returns what it prints. */
function run(...command: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: folder, encoding: 'utf8', timeout: 150_000 })
  expect(status, stderr + stdout).toBe(0)
  return stdout + stderr
}

/** Writes the program of docs/runtimes.md as an ES module, which bundlers take. */
function writeServer(): void {
  const program = blockOf('runtimes.md', 'commonjs')
  writeFileSync(join(folder, 'server.mjs'), program.replace(/^const (\{.*\}) = require\((.*)\)$/gm, 'import $1 from $2'))
}

const moduleOf = (path: string): string => join(ROOT, 'node_modules', path)

it('Jest runs the test of docs/testing.md without options', () => {
  writeFileSync(join(folder, 'customers.test.js'), blockOf('testing.md', 'jest'))
  expect(run(moduleOf('jest/bin/jest.js'), '--ci', '--rootDir', folder)).toContain('1 passed')
})

it('the CommonJS program of docs/runtimes.md runs', () => {
  writeFileSync(join(folder, 'server.cjs'), blockOf('runtimes.md', 'commonjs'))
  expect(run('server.cjs')).toBe('true\n')
})

it.each([
  ['esbuild', 'esbuild.mjs', ['esbuild.mjs'], 'out/server.mjs'],
  ['webpack', 'webpack.config.cjs', ['webpack.mjs'], 'out/server.cjs'],
  ['rollup', 'rollup.config.mjs', [moduleOf('rollup/dist/bin/rollup'), '-c', '--silent'], 'out/server.mjs'],
] as const)(
  '%s bundles a program with the options of docs/runtimes.md, and the bundle runs',
  (_name, config, command, bundle) => {
    writeServer()
    rmSync(join(folder, 'out'), { recursive: true, force: true })
    writeFileSync(join(folder, config), blockOf('runtimes.md', config))
    // The program of webpack is a package of its own.
    writeFileSync(
      join(folder, 'webpack.mjs'),
      `import webpack from 'webpack'
import config from './webpack.config.cjs'
webpack(config, (error, stats) => {
  const problems = error ?? (stats.hasErrors() || stats.hasWarnings() ? stats.toString('errors-warnings') : undefined)
  if (problems !== undefined) throw new Error(String(problems))
})`,
    )
    run(...command)
    rmSync(join(folder, 'vault.db'), { force: true })
    expect(run(bundle)).toBe('true\n')
  },
)
