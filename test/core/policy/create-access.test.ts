/** Tests that a `forbidden` fault names the kind of caller, the action and the table, and nothing else. */
import { expect, it } from 'vitest'
import { forbidden } from '../../../src/core/policy/create-access.ts'
import { table } from './sample-vault.ts'

it('names the kind of caller and the action, and the table in its details', () => {
  const error = forbidden({ actorType: 'SERVICE_ACCOUNT' }, 'DETOKENIZATION', table())
  expect(error).toMatchObject({ code: 'forbidden', grpcCode: 7, details: [{ table: 'persons' }] })
  expect(error.message).toBe(
    'The service account is not granted DETOKENIZATION for this request. Ask the vault owner for a role.',
  )
})

it('has no details without a table', () => {
  const error = forbidden({ actorType: 'USER' }, 'AUDIT')
  expect(error.details).toEqual([])
  expect(error.message).toBe('The user is not granted AUDIT for this request. Ask the vault owner for a role.')
})
