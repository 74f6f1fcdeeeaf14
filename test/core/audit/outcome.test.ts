/** Outcomes: the message of a `VaultError` is recorded, other messages are not. */
import { expect, it } from 'vitest'
import { outcomeOf } from '../../../src/core/audit/outcome.ts'
import { VaultError } from '../../../src/core/errors.ts'

it('returns status and message of a VaultError', () => {
  const error = new VaultError('not_found', 'Get failed. No record has this id.')
  expect(outcomeOf(error)).toEqual({ code: 404, message: 'Get failed. No record has this id.', failure: 'not_found' })
})

it('returns a constant message for any other error', () => {
  for (const error of [new Error('secret'), 'secret', undefined, { message: 'secret' }]) {
    expect(outcomeOf(error)).toEqual({ code: 500, message: 'Something unexpected went wrong.', failure: 'internal' })
  }
})
