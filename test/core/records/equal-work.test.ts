/** Equal work: tokens that cannot be resolved cost the same calls of storage and keys, whatever the reason. */
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { KeyRing } from '../../../src/core/ports/crypto.ts'
import type { Row, Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { defineSchema } from '../../../src/core/schema/define-schema.ts'
import { readPointer } from '../../../src/core/sealing/envelope.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { asLoose } from '../../support/vaults/open-untyped.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const CLERK = { actor: 'clerk@acme.example', actorType: 'USER', roles: ['clerk'] } as const
const DIGITS = { kind: 'formatPreserving', format: 'digits' } as const
const schema = defineSchema({
  people: {
    name: { type: 'STRING', token: 'random' },
    ssn: { type: 'STRING', token: 'random' },
    region: { type: 'STRING' },
    code: { type: 'STRING', token: DIGITS },
    otp: { type: 'STRING', token: { kind: 'transient', ttlMinutes: 10 } },
    badge: { type: 'STRING', token: 'deterministic' },
    card: { type: 'STRING', token: { kind: 'deterministicFormatPreserving', format: { pattern: 'C\\d{12}' } } },
  },
  orders: { memo: { type: 'STRING', token: 'random' } },
})

/** What one call did: the calls of storage by name, with the number of rows returned, and of the key ring, with the number of items. */
interface Work {
  calls: string[]
  rows: number
  opened: number
}

/** A storage and a key ring factory whose work is counted. */
function counted(storage: StorageHandle) {
  const work: Work = { calls: [], rows: 0, opened: 0 }
  const rings: KeyRing[] = []
  const reads = (inner: Storage): Pick<Storage, 'get' | 'find'> => ({
    async get(table, ids) {
      const rows = await inner.get(table, ids)
      work.calls.push(`get ${ids.length}`)
      work.rows += rows.filter((row: Row | undefined) => row !== undefined).length
      return rows
    },
    async find(table, filter, page) {
      work.calls.push(`find ${filter.kind} ${page.limit}`)
      return inner.find(table, filter, page)
    },
  })
  return {
    work,
    rings,
    storage: { ...storage, ...reads(storage) },
    keyRingFactory: {
      ...keyRingFactory,
      createRing: (...given: Parameters<typeof keyRingFactory.createRing>): KeyRing =>
        countedRing(keyRingFactory.createRing(...given)),
    },
  }

  /** The ring of a vault is made from that of its active key alone. */
  function countedRing(ring: KeyRing): KeyRing {
    rings.push(ring)
    return {
      ...ring,
      withRoots: (...given: Parameters<KeyRing['withRoots']>) => countedRing(ring.withRoots(...given)),
      open(...asked: Parameters<KeyRing['open']>) {
        const answer = ring.open(...asked)
        work.calls.push('open')
        work.opened += answer.opened.length
        return answer
      },
      digest(...asked: Parameters<KeyRing['digest']>) {
        work.calls.push('digest')
        return ring.digest(...asked)
      },
      decryptPointers(...asked: Parameters<KeyRing['decryptPointers']>) {
        work.calls.push('decryptPointers')
        return ring.decryptPointers(...asked)
      },
    }
  }
}

async function fixture(place: StorageHandle) {
  const { work, rings, ...ports } = counted(place)
  const clock = { ms: Date.UTC(2026, 0, 1) }
  const vault = await openVault({
    ...SYSTEM_PORTS,
    ...ports,
    id: 'v1',
    schema,
    audit: 'off',
    keys: localKeys({ key: TEST_SECRET }),
    clock: { now: () => BigInt(clock.ms) * 1_000_000n },
    policy: {
      clerk: [
        "ALLOW DETOKENIZATION, READ ON people.name, people.code, people.otp WITH REDACTION = PLAIN_TEXT WHERE region = 'SE'",
      ],
    },
  })
  const owner = asLoose(vault.as(OWNER))
  const clerk = asLoose(vault.as(CLERK))
  const insert = async (table: string, fields: Record<string, string>) => {
    const { records } = await owner.insert(table, [{ fields }], { tokenization: true })
    const [record] = records
    if (record === undefined) throw new Error('nothing was inserted')
    return record
  }
  const person = (region: string, code: string) => insert('people', { name: `Name ${code}`, ssn: code, region, code, otp: code })
  const dead = await person('SE', '100000000001')
  const hidden = await person('DE', '100000000002')
  const replaced = await person('SE', '100000000003')
  const expired = await person('SE', '100000000004')
  const order = await insert('orders', { memo: 'a memo' })
  clock.ms += 3_600_000
  const live = await person('SE', '100000000005')
  await owner.delete('people', [dead.id])
  await owner.updateOne('people', replaced.id, { name: 'Another name' })

  /** A random UUID that costs what a token of this column costs: the column that its object id selects. */
  const unknown = (column: 'name' | 'otp' | 'memo'): string => {
    const columns = ['name', 'ssn', 'otp', 'memo']
    for (;;) {
      const text = randomUUID()
      const { words } = rings.at(-1)?.decryptPointers(1, [text]) ?? {}
      if (words !== undefined && columns[readPointer(words, 0).objectId % columns.length] === column) return text
    }
  }
  const cost = async (...tokens: (string | undefined)[]): Promise<Work> => {
    Object.assign(work, { calls: [], rows: 0, opened: 0 })
    const asked = tokens.map((token) => ({ token: token ?? '' }))
    const error = await clerk.detokenize(asked).then(
      () => undefined,
      (caught: unknown) => caught,
    )
    expect(error).toMatchObject({ code: 'not_found' })
    // The order of the calls differs: a decoy is read last.
    return { ...work, calls: work.calls.toSorted() }
  }
  /** The work of resolving tokens of these values for an owner, who can. */
  const costOfDerived = async (fields: Record<string, string>): Promise<Work> => {
    const record = await insert('people', fields)
    Object.assign(work, { calls: [], rows: 0, opened: 0 })
    const asked = Object.values(record.tokens).map((token) => ({ token, redaction: 'PLAIN_TEXT' as const }))
    const { records } = await owner.detokenize(asked)
    expect(records.map(({ value }) => value).toSorted()).toEqual(Object.values(fields).toSorted())
    return work
  }
  const tokens = { dead, hidden, replaced, expired, live }
  return {
    cost,
    costOfDerived,
    unknown,
    order,
    tokens,
    badgeOf: async () => (await insert('people', { badge: 'B1' })).tokens.badge,
  }
}

onEachStorage('unresolved tokens', (engine) => {
  it('cost the same, whether unknown, malformed, dead, hidden, replaced, of another table or expired', async () => {
    const { cost, unknown, order, tokens } = await fixture(engine.fresh().open())
    const { dead, hidden, replaced, expired, live } = tokens
    const expected = await cost(unknown('name'))
    expect([expected.rows, expected.opened > 0]).toEqual([2, true])
    const classes = {
      malformed: `x${randomUUID().slice(1)}`,
      'too short': 'abc',
      dead: dead.tokens.name,
      'hidden row': hidden.tokens.name,
      'hidden column': live.tokens.ssn,
      replaced: replaced.tokens.name,
      'of another table': order.tokens.memo,
      'unknown, with the cost of that table': unknown('memo'),
      expired: expired.tokens.otp,
      'of a deleted record, expired': dead.tokens.otp,
      'unknown, with the cost of transient tokens': unknown('otp'),
    }
    for (const [name, token] of Object.entries(classes)) {
      const { opened, rows, calls } = await cost(token)
      expect([name, rows, calls.filter((call) => !call.startsWith('open'))]).toEqual([
        name,
        expected.rows,
        expected.calls.filter((call) => !call.startsWith('open')),
      ])
      // Access to another table or to a transient value is decided without a row, so fewer are opened: those equal each other.
      const like = /expired|transient/.test(name) ? 'otp' : /table/.test(name) ? 'memo' : 'name'
      expect([name, { opened, rows, calls }]).toEqual([name, await cost(unknown(like))])
    }
  })

  it('have no part in the work of derived tokens that are resolved: each row is read once, by its digest', async () => {
    const { costOfDerived } = await fixture(engine.fresh().open())
    const { calls, opened } = await costOfDerived({ badge: 'B1', card: 'C123456789012' })
    expect(calls.filter((call) => call.startsWith('get'))).toEqual([])
    // Both columns, and the table of stored tokens.
    expect(calls.filter((call) => call.startsWith('find'))).toHaveLength(3)
    expect(opened).toBe(2)
  })

  it('that are stored cost the same, whether unknown, of a deleted record, or hidden', async () => {
    const { cost, tokens } = await fixture(engine.fresh().open())
    const expected = await cost('999999999999')
    expect(await cost(tokens.dead.tokens.code)).toEqual(expected)
    expect(await cost(tokens.hidden.tokens.code)).toEqual(expected)
  })

  it('that are derived cost the same, whether unknown or hidden', async () => {
    const { cost, badgeOf } = await fixture(engine.fresh().open())
    const hidden = (await badgeOf()) ?? ''
    const unknown = `${hidden.slice(0, -1)}${hidden.endsWith('0') ? '1' : '0'}`
    expect(await cost(hidden)).toEqual(await cost(unknown))
  })

  it('cost the same beside a token that is resolved', async () => {
    const { cost, unknown, tokens } = await fixture(engine.fresh().open())
    const beside = tokens.live.tokens.name
    const expected = await cost(beside, unknown('name'))
    expect(await cost(beside, tokens.dead.tokens.name)).toEqual(expected)
    expect(await cost(beside, tokens.hidden.tokens.name)).toMatchObject({ rows: expected.rows, opened: expected.opened })
  })
})
