/** The example of a leaked key prints no key, and that a copy from before opens with the old key file only. */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { builtPackage } from '../support/cli/built-command.ts'

const ROOT = join(import.meta.dirname, '../..')

it('npm run rotate says what it does, and no secret', () => {
  const { stdout, stderr, status } = spawnSync(process.execPath, [...builtPackage(), join(ROOT, 'examples/rotate.ts')], {
    encoding: 'utf8',
    timeout: 200_000,
  })
  expect(status, stderr + stdout).toBe(0)
  const output = stdout.replace(/\s+/g, ' ')
  for (const sentence of [
    'key 1 lookup 0 customers key 2 active 6000 customers',
    'Root keys wrapped again with new.key: 1.',
    '100 % sealed again',
    'Key 3 seals now.',
    'Complete: true.',
    'key 1 lookup 0 customers key 2 retired 0 customers key 3 active 6000 customers',
    'Key 2 is destroyed. Bodies lost with it: 0.',
    'the copy, with old.key opens: 6000 customers',
    'the copy, with new.key failed_precondition',
    'the vault, with old.key failed_precondition',
    'the vault, with new.key opens: 6000 customers',
    'Records verified: true. Trail verified: true,',
  ])
    expect(output).toContain(sentence)
  expect(Number(/Writes that succeeded meanwhile: (\d+)/.exec(output)?.[1])).toBeGreaterThan(0)
  const [, stolen = ''] = /in (\/\S*\/stolen)/.exec(output) ?? []
  const folder = dirname(stolen)
  for (const file of [join(stolen, 'old.key'), join(folder, 'new.key')]) {
    const [, key = ''] = readFileSync(file, 'utf8').split('\n')
    expect(key).toMatch(/^[\w+/]{43}=$/)
    expect(stdout + stderr).not.toContain(key)
  }
  rmSync(folder, { recursive: true })
})
