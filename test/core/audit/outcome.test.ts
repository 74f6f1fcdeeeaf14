/** Outcomes: a vault's own error in its own words, everybody else's in none. */
import { expect, test } from 'vitest'
import { outcomeOf } from '../../../src/core/audit/outcome.ts'
import { VaultError } from '../../../src/core/errors.ts'

test('an error of the vault is told by its status and its sentence', () => {
  const error = new VaultError('not_found', 'Get failed. No record has this id.')
  expect(outcomeOf(error)).toEqual({ code: 404, message: 'Get failed. No record has this id.', failure: 'not_found' })
})

test('any other error is told without a word of it', () => {
  for (const error of [new Error('secret'), 'secret', undefined, { message: 'secret' }]) {
    expect(outcomeOf(error)).toEqual({ code: 500, message: 'Something unexpected went wrong.', failure: 'internal' })
  }
})
