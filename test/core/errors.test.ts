/** Codes with their statuses, and sentences that know which of their words are names. */
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import {
  Fault,
  fault,
  isVaultError,
  mayBeStored,
  print,
  STATUSES,
  say,
  statusOf,
  VaultError,
  words,
} from '../../src/core/errors.ts'

const isName = (text: string) => text === 'people'

describe('a VaultError', () => {
  it.each([
    ['invalid_request', 400, 3],
    ['out_of_range', 400, 11],
    ['limit_exceeded', 400, 8],
    ['deadline_exceeded', 400, 4],
    ['unsupported', 400, 12],
    ['cancelled', 400, 1],
    ['unauthenticated', 401, 16],
    ['forbidden', 401, 7],
    ['not_found', 404, 5],
    ['unprocessable', 422, 9],
    ['failed_precondition', 422, 9],
    ['conflict', 422, 6],
    ['tokens_exhausted', 422, 8],
    ['aborted', 500, 10],
    ['outcome_unknown', 500, 2],
    ['storage_full', 500, 8],
    ['unavailable', 500, 14],
    ['data_loss', 500, 15],
    ['internal', 500, 13],
  ] as const)('of code %s has HTTP status %i and gRPC code %i', (code, http, grpc) => {
    expect(statusOf(new VaultError(code, 'It failed.'))).toEqual({ http, grpc })
  })

  it('has the HTTP status of its operation where that documents another', () => {
    const error = new VaultError('not_found', 'It failed.', {}, { httpStatus: 400 })
    expect(statusOf(error)).toEqual({ http: 400, grpc: 5 })
  })

  it('holds one detail or several, at most 25, and none where there is nothing to locate', () => {
    expect(new VaultError('conflict', '', { table: 'people' }).details).toEqual([{ table: 'people' }])
    expect(new VaultError('conflict', '', {}).details).toEqual([])
    const many = Array.from({ length: 30 }, (_, index) => ({ index }))
    expect(new VaultError('not_found', '', many).details).toEqual(many.slice(0, 25))
  })

  it('cuts its message at 1,000 characters', () => {
    expect(new VaultError('internal', 'x'.repeat(2000)).message).toHaveLength(1000)
  })

  it('keeps its cause', () => {
    const cause = new Error('the engine failed')
    expect(new VaultError('unavailable', '', {}, { cause }).cause).toBe(cause)
  })
})

it('any other error has the status of a defect', () => {
  expect(statusOf(new Error('a secret'))).toEqual({ http: 500, grpc: 13 })
  expect(STATUSES.internal).toEqual({ http: 500, grpc: 13 })
  expect([STATUSES, ...Object.values(STATUSES)].every((part) => Object.isFrozen(part))).toBe(true)
  expect(statusOf(undefined)).toEqual({ http: 500, grpc: 13 })
})

it('a change may be stored after a lost storage and an unknown outcome, and after nothing else', () => {
  const codes = ['unavailable', 'outcome_unknown', 'aborted', 'storage_full', 'conflict', 'internal'] as const
  expect(codes.filter((code) => mayBeStored(new VaultError(code, '')))).toEqual(['unavailable', 'outcome_unknown'])
  expect(mayBeStored(new Error('the wire broke'))).toBe(false)
})

describe('a sentence', () => {
  it('prints names in double quotes, numbers and words of ours as they are', () => {
    expect(print(say`Column ${'mail'} of records[${3}] must be one of ${words('a, b')}.`)).toBe(
      'Column "mail" of records[3] must be one of a, b.',
    )
  })

  it('describes what does not look like a name', () => {
    for (const value of ['4111 1111 1111 1111', 'a@b.example', '', 'x'.repeat(64), '1a', 'né']) {
      expect(print(say`Table ${value} does not exist.`)).toBe('Table (not a valid name) does not exist.')
    }
  })

  it('is recorded without names that the schema does not have, in nested sentences too', () => {
    const inner = say`Column ${'hunter2'} of table ${'people'} is invalid.`
    expect(print(say`Line ${1}: ${inner}`, isName)).toBe('Line 1: Column *UNKNOWN* of table "people" is invalid.')
  })
})

it('a fault is printed as a VaultError, the one class that callers know', () => {
  expect(inspect(fault('not_found')`Table ${'people'} does not exist.`)).toMatch(/^VaultError: Table "people" does not exist\.\n/)
})

it('a fault is a VaultError that keeps its sentence to itself', () => {
  const raw = fault('invalid_request')`Table ${'hunter2 4111 1111'} does not exist.`
  expect(JSON.stringify({ ...raw }) + raw.message).not.toContain('hunter2')
  const thrown = fault('not_found', { table: 'unknown' })`Table ${'unknown'} does not exist.`
  expect(thrown).toBeInstanceOf(Fault)
  expect(isVaultError(thrown, 'not_found')).toBe(true)
  expect(thrown.message).toBe('Table "unknown" does not exist.')
  expect(thrown.recordedText(isName)).toBe('Table *UNKNOWN* does not exist.')
})
