/** A refusal says who and which action, and no more. */
import { expect, test } from 'vitest'
import { forbidden } from '../../../src/core/policy/refuse-access.ts'
import { table } from './sample-vault.ts'

test('a refused caller hears his kind, the action and the table he named', () => {
  const error = forbidden({ actorType: 'SERVICE_ACCOUNT' }, 'DETOKENIZATION', table())
  expect(error).toMatchObject({ code: 'forbidden', grpcCode: 7, details: [{ table: 'persons' }] })
  expect(error.message).toBe('The service account has no grant for DETOKENIZATION here. Ask the owner of the vault for a role.')
})

test('without a table nothing is named', () => {
  const error = forbidden({ actorType: 'USER' }, 'AUDIT')
  expect(error.details).toEqual([])
  expect(error.message).toBe('The user has no grant for AUDIT here. Ask the owner of the vault for a role.')
})
