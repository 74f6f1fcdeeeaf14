/** Members of a typed statement that are there and say nothing: refused, for a condition lost on the way would grant every row. */
import { expect, test } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { isVaultError } from '../../../src/core/errors.ts'
import { compilePolicy } from '../../../src/core/policy/compile-policy.ts'
import type { PolicyDefinition } from '../../../src/core/policy/statement.ts'
import { column } from '../../../src/index.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { LAYOUT } from './sample-vault.ts'

const GOOD = { effect: 'ALLOW', actions: ['READ'], on: ['persons.*'] }

/** A statement whose members stand on its prototype, where nobody looks for them. */
class Filtered {
  effect = 'ALLOW'
  actions = ['READ']
  on = ['persons.*']

  get where(): string {
    return 'age > 17'
  }
}

/** Message of the refusal, or undefined where the statement is accepted. */
function refusalOf(statement: unknown): string | undefined {
  try {
    compilePolicy({ clerk: [statement] } as PolicyDefinition, LAYOUT) // What a JavaScript caller may send is not what the type says.
    return undefined
  } catch (error) {
    if (!isVaultError(error, 'invalid_request')) throw error
    return error.message
  }
}

test.each(['where', 'redaction'])('a %s that is undefined or null is refused at its place', (member) => {
  const place = `Policy refused. Statement 1 of role clerk, ${member}: `
  expect(refusalOf({ ...GOOD, [member]: undefined })).toContain(`${place}Expected a text, or no such member at all.`)
  expect(refusalOf({ ...GOOD, [member]: null })).toContain(`${place}Expected text.`)
})

test('a DENY whose condition is undefined is refused as well, and so is a getter that answers undefined', () => {
  expect(refusalOf({ ...GOOD, effect: 'DENY', where: undefined })).toContain(', where: Expected a text')
  const lazy = Object.defineProperty({ ...GOOD }, 'where', { enumerable: true, get: () => undefined })
  expect(refusalOf(lazy)).toContain(', where: Expected a text')
})

test('an object of a class, or one that inherits its members, is refused: what stands on a prototype would be passed over', () => {
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

test('the same members on a plain object, or on one without a prototype, are accepted', () => {
  for (const statement of [GOOD, { ...GOOD, where: 'age > 17', redaction: 'MASKED' }]) {
    expect(refusalOf(statement)).toBeUndefined()
    expect(refusalOf(Object.assign(Object.create(null), statement))).toBeUndefined()
  }
})

test('a vault with such a policy does not open', async () => {
  const statement = { effect: 'ALLOW', actions: ['READ'], on: ['notes.*'], where: undefined }
  const policy = { clerk: [statement] } as unknown as PolicyDefinition // The type refuses it, which JavaScript does not know.
  await expect(openLoose(memoryStorage(), { notes: { text: column.string({}) } }, { policy })).rejects.toMatchObject({
    code: 'invalid_request',
  })
})
