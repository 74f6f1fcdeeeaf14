/** The description of a schema that hosts read from a vault. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { column, mask } from '../../../src/index.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'

const TABLES = {
  people: {
    name: column.string({ required: true, maxLength: 40, pattern: '[A-Z].*', redaction: 'MASKED', mask: mask.keepFirst(1) }),
    email: column.string({ unique: true, token: 'deterministic', columnGroup: 'emails' }),
    country: column.string({ encrypted: false, index: true, oneOf: ['SE', 'NO'] }),
    pin: column.string({ token: { kind: 'transient', ttlMinutes: 5 } }),
    photo: column.file({ allowedTypes: ['image/*'], maxBytes: 1000 }),
  },
  pets: { age: column.integer({ searchable: true, redaction: 'PLAIN_TEXT' }) },
}

it('names each table and column, with what a column accepts and how it is shown', async () => {
  const { vault } = await openLoose(memoryStorage(), TABLES)
  const none = { required: false, unique: false, encrypted: true, lookup: false, redaction: 'REDACTED', masked: false }
  expect(vault.schema).toEqual({
    people: {
      name: { ...none, type: 'STRING', required: true, redaction: 'MASKED', masked: true, maxLength: 40, pattern: '[A-Z].*' },
      email: { ...none, type: 'STRING', unique: true, lookup: true, tokenKind: 'deterministic', columnGroup: 'emails' },
      country: { ...none, type: 'STRING', encrypted: false, lookup: true, oneOf: ['SE', 'NO'] },
      pin: { ...none, type: 'STRING', tokenKind: 'transient' },
      photo: { ...none, type: 'FILE', allowedTypes: ['image/*'], maxBytes: 1000 },
    },
    pets: { age: { ...none, type: 'INTEGER', lookup: true, redaction: 'PLAIN_TEXT' } },
  })
  expect(Object.keys(vault.schema)).toEqual(['people', 'pets'])
  expect(JSON.parse(JSON.stringify(vault.schema))).toEqual(vault.schema)
})

it('is frozen at every level', async () => {
  const { vault } = await openLoose(memoryStorage(), TABLES)
  const parts = [
    vault.schema,
    ...Object.values(vault.schema),
    ...Object.values(vault.schema).flatMap((one) => Object.values(one)),
  ]
  expect(parts.every((part) => Object.isFrozen(part))).toBe(true)
  expect(Object.isFrozen(vault.schema.people?.country?.oneOf)).toBe(true)
})

it('comes with the id of the account, which is that of the vault by default', async () => {
  const { vault } = await openLoose(memoryStorage(), TABLES)
  expect(vault.accountId).toBe(vault.id)
})
