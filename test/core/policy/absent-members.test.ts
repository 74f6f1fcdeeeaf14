/** Tests that a typed statement with an undefined member is rejected: a lost condition would grant every row. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { isVaultError } from '../../../src/core/errors.ts'
import { compilePolicy } from '../../../src/core/policy/compile-policy.ts'
import type { PolicyDefinition } from '../../../src/core/policy/statement.ts'
import { column } from '../../../src/index.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { LAYOUT } from './sample-vault.ts'

const GOOD = { effect: 'ALLOW', actions: ['READ'], on: ['persons.*'] }

/** A statement with a member on its prototype. */
class Filtered {
  effect = 'ALLOW'
  actions = ['READ']
  on = ['persons.*']

  get where(): string {
    return 'age > 17'
  }
}

/** The error message, or undefined if the statement is accepted. */
function refusalOf(statement: unknown): string | undefined {
  try {
    compilePolicy({ clerk: [statement] } as PolicyDefinition, LAYOUT) // JavaScript callers can pass values that the type excludes.
    return undefined
  } catch (error) {
    if (!isVaultError(error, 'invalid_request')) throw error
    return error.message
  }
}

it.each(['where', 'redaction'])('rejects a statement whose %s is undefined or null and names the member', (member) => {
  const place = `Invalid policy: statement 1 of role "clerk", ${member}: `
  expect(refusalOf({ ...GOOD, [member]: undefined })).toContain(`${place}Expected a string; omit the member if unused.`)
  expect(refusalOf({ ...GOOD, [member]: null })).toContain(`${place}Expected a string.`)
})

it('rejects a DENY whose condition is undefined, and a getter that returns undefined', () => {
  expect(refusalOf({ ...GOOD, effect: 'DENY', where: undefined })).toContain(', where: Expected a string; omit')
  const lazy = Object.defineProperty({ ...GOOD }, 'where', { enumerable: true, get: () => undefined })
  expect(refusalOf(lazy)).toContain(', where: Expected a string; omit')
})

it('rejects a class instance and an object with inherited members, because inherited members would be ignored', () => {
  for (const statement of [
    new Filtered(),
    Object.create({ ...GOOD, where: 'age > 17' }),
    Object.create(GOOD),
    new Map(),
    new Date(0),
  ]) {
    expect(refusalOf(statement)).toContain('Expected a statement, as text or as a plain object.')
  }
})

it('accepts the same members on a plain object and on an object without a prototype', () => {
  for (const statement of [GOOD, { ...GOOD, where: 'age > 17', redaction: 'MASKED' }]) {
    expect(refusalOf(statement)).toBeUndefined()
    expect(refusalOf(Object.assign(Object.create(null), statement))).toBeUndefined()
  }
})

it('does not open a vault with such a policy', async () => {
  const statement = { effect: 'ALLOW', actions: ['READ'], on: ['notes.*'], where: undefined }
  const policy = { clerk: [statement] } as unknown as PolicyDefinition // JavaScript callers can pass values that the type excludes.
  await expect(openLoose(memoryStorage(), { notes: { text: column.string({}) } }, { policy })).rejects.toMatchObject({
    code: 'invalid_request',
  })
})
