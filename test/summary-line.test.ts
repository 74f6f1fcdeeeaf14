/** Shows that the last line of a test run counts everything that can go wrong, by running the real test runner. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const TOP = fileURLToPath(new URL('..', import.meta.url))

describe('the summary line of a test run', () => {
  it('counts what passed', () => {
    expect(summaryLineOf(`it('a', () => {})\nit('b', () => {})`)).toBe('2 passed, 0 failed')
  })

  it('counts what failed and what was left out', () => {
    expect(summaryLineOf(`it('a', () => {})\nit('b', () => { throw new Error('b') })\nit.skip('c', () => {})`)).toBe(
      '1 passed, 1 failed, 1 skipped',
    )
  })

  it('counts a file that does not load as failed', () => {
    expect(summaryLineOf(`throw new Error('broken')`)).toBe('0 passed, 1 failed')
  })

  it('counts a group whose preparation fails as failed', () => {
    const group = `describe('d', () => { beforeAll(() => { throw new Error('d') }); it('a', () => {}) })`
    expect(summaryLineOf(`it('b', () => {})\n${group}`)).toBe('1 passed, 1 failed, 1 skipped')
  })

  it('counts an error outside of any test as failed', () => {
    const stray = `it('a', () => { Promise.reject(new Error('late')); return new Promise((done) => setImmediate(done)) })`
    expect(summaryLineOf(stray)).toBe('1 passed, 1 failed')
  })

  it('does not call a run without tests a success', () => {
    expect(summaryLineOf(undefined)).toBe('0 passed, 1 failed')
  })
})

/** Runs one test file of this text in a folder of its own and answers the last line printed. */
function summaryLineOf(text: string | undefined): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'closing-line-'))
  try {
    mkdirSync(join(folder, 'test'))
    symlinkSync(join(TOP, 'node_modules'), join(folder, 'node_modules'))
    const reporter = JSON.stringify(join(TOP, 'test/support/reporting/summary-line.ts'))
    writeFileSync(
      join(folder, 'vitest.config.ts'),
      `import { summaryLine } from ${reporter}\nexport default { test: { reporters: ['default', summaryLine()] } }`,
    )
    if (text !== undefined)
      writeFileSync(join(folder, 'test/a.test.ts'), `import { beforeAll, describe, it } from 'vitest'\n${text}`)
    const run = spawnSync(process.execPath, [join(TOP, 'node_modules/vitest/vitest.mjs'), 'run'], {
      cwd: folder,
      encoding: 'utf8',
    })
    return run.stdout.trimEnd().split('\n').at(-1)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
