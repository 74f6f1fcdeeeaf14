/** One token of several cells: a caller who can resolve it in one of them gets that one, despite hidden cells with the same value. */
import { describe, expect, it } from 'vitest'
import type { StringOptions } from '../../../src/core/schema/column.ts'
import { column } from '../../../src/index.ts'
import { callerOf } from '../../support/audit/audited-clients.ts'
import { type Engine, onEachStorage } from '../../support/storages/engines.ts'
import { asLoose, type Cells, insertOne, type LooseStored, openLoose } from '../../support/vaults/open-untyped.ts'

/** A kind of token that equal values share, and two values of its column. */
interface Shared {
  readonly kind: string
  readonly token: NonNullable<StringOptions['token']>
  readonly value: string
  readonly other: string
}

const KINDS: readonly Shared[] = [
  { kind: 'deterministic', token: 'deterministic', value: 'Ann', other: 'Bob' },
  {
    kind: 'deterministicFormatPreserving',
    token: { kind: 'deterministicFormatPreserving', format: 'card' },
    value: '4000056655665556',
    other: '4242424242424242',
  },
]

/** A value in a cell, and in which table. */
type Placed = readonly [table: string, fields: Cells]

/** The vault of a clerk: records in write order, of which only the last is visible. */
async function open(engine: Engine, { token }: Shared, { policy, placed }: { policy: string[]; placed: readonly Placed[] }) {
  const kin = column.string({ token, redaction: 'PLAIN_TEXT', columnGroup: 'kin' })
  const tables = { aliases: { alias: kin }, cards: { alias: kin, name: kin, region: column.string({ encrypted: false }) } }
  const { vault, session } = await openLoose(engine.fresh().open(), tables, { policy: { clerk: policy } })
  const stored: LooseStored[] = []
  for (const [table, fields] of placed) stored.push(await insertOne(session, table, fields))
  return { clerk: asLoose(vault.as(callerOf('clerk'))), reached: stored.at(-1), owner: session }
}

onEachStorage('a token of several cells', (engine) => {
  describe.each(KINDS)('of kind $kind', (shared) => {
    const { value, other } = shared
    const cases: Readonly<Record<string, { policy: string[]; placed: readonly Placed[] }>> = {
      'a hidden column of the group in an earlier record': {
        policy: ['ALLOW READ, DETOKENIZATION ON cards.name'],
        placed: [
          ['cards', { alias: value, name: other }],
          ['cards', { alias: other, name: value }],
        ],
      },
      'a hidden column of the group in the same record': {
        policy: ['ALLOW READ, DETOKENIZATION ON cards.name'],
        placed: [['cards', { alias: value, name: value }]],
      },
      'a table of the group without any grant': {
        policy: ['ALLOW READ, DETOKENIZATION ON cards.name'],
        placed: [
          ['aliases', { alias: value }],
          ['cards', { name: value }],
        ],
      },
      'a table of the group with READ and without DETOKENIZATION': {
        policy: ['ALLOW READ, DETOKENIZATION ON cards.name', 'ALLOW READ ON aliases.*'],
        placed: [
          ['aliases', { alias: value }],
          ['cards', { name: value }],
        ],
      },
      'earlier records that the condition hides': {
        policy: ["ALLOW READ, DETOKENIZATION ON cards.name WHERE region = 'north'"],
        placed: [
          ...Array.from({ length: 3 }, () => ['cards', { name: value, region: 'south' }] as const),
          ['cards', { name: value, region: 'north' }],
        ],
      },
    }

    it.each(Object.entries(cases))('is resolved where the caller can read, beside %s', async (_, given) => {
      const { clerk, reached } = await open(engine, shared, given)
      const token = reached?.tokens.name ?? ''
      expect(await clerk.detokenize([{ token }])).toEqual({
        records: [{ token, valueType: 'STRING', value, table: 'cards', column: 'name' }],
      })
      expect(await clerk.getByTokens([token])).toEqual({
        records: [{ token, id: reached?.id, table: 'cards', column: 'name', fields: { name: value }, levels: {} }],
      })
    })

    it('is not found once the only visible record is deleted', async () => {
      const given = cases['earlier records that the condition hides'] ?? { policy: [], placed: [] }
      const { clerk, reached, owner } = await open(engine, shared, given)
      const token = reached?.tokens.name ?? ''
      await owner.delete('cards', [reached?.id ?? ''])
      expect((await owner.detokenize([{ token }])).records[0]?.value).toBe(value)
      await expect(clerk.detokenize([{ token }])).rejects.toMatchObject({ code: 'not_found' })
      expect(await clerk.getByTokens([token])).toEqual({
        records: [{ token, fields: {}, levels: {}, error: 'Token Not Found', code: 'not_found' }],
      })
    })
  })
})
