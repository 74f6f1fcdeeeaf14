/** Stable tokens survive their value: a caller who overwrites a hidden value does not get its token. */
import { expect, it } from 'vitest'
import { column } from '../../../src/index.ts'
import { callerOf } from '../../support/audit/audited-clients.ts'
import { type Engine, onEachStorage } from '../../support/storages/engines.ts'
import { asLoose, insertOne, type LooseSession, openLoose } from '../../support/vaults/open-untyped.ts'

const format = { preset: 'card', keepFirst: 4 } as const
const TABLES = {
  cards: {
    email: column.string({ unique: true }),
    number: column.string({ token: { kind: 'formatPreserving', format, stable: true } }),
    backup: column.string({ token: { kind: 'formatPreserving', format } }),
    region: column.string({ encrypted: false }),
  },
}
const WRITES = 'ALLOW CREATE, UPDATE ON cards.*'
const POLICY = {
  writer: [WRITES],
  reader: [WRITES, 'ALLOW READ ON cards.number WITH REDACTION = REDACTED'],
  northern: [WRITES, "ALLOW READ ON cards.number WHERE region = 'north'"],
  resolver: [WRITES, 'ALLOW DETOKENIZATION ON cards.number'],
}
const EMAIL = 'ann@acme.example'
const OLD = { email: EMAIL, number: '4111111111111111', backup: '4111111111111111', region: 'north' }
const NEW = { number: '4012888888881881', backup: '4012888888881881' }

/** A change of the stored record that requests its tokens. */
const CHANGES: Readonly<Record<string, (session: LooseSession, id: string) => Promise<Readonly<Record<string, string>>>>> = {
  async update(session, id) {
    return (await session.updateOne('cards', id, NEW, { tokenization: true })).tokens
  },
  async upsert(session) {
    return (await insertOne(session, 'cards', { email: EMAIL, ...NEW }, { options: { upsert: 'email' } })).tokens
  },
}

async function open(engine: Engine, role: keyof typeof POLICY, region = 'north') {
  const { vault, session } = await openLoose(engine.fresh().open(), TABLES, { policy: POLICY })
  const standing = await insertOne(session, 'cards', { ...OLD, region })
  return { session: asLoose(vault.as(callerOf(role))), owner: session, standing }
}

onEachStorage('the token of a stable column', (engine) => {
  for (const [verb, change] of Object.entries(CHANGES)) {
    it.each(['writer', 'resolver'] as const)(
      `is not returned by ${verb} to a %s who could not read the previous value`,
      async (role) => {
        const { session, owner, standing } = await open(engine, role)
        const tokens = await change(session, standing.id)
        expect(tokens.number).toBeUndefined()
        expect(JSON.stringify(tokens)).not.toContain(standing.tokens.number)
        // A new token reveals only the caller's own value.
        expect(tokens.backup).toMatch(/^4012\d{12}$/)
        const { fields } = await owner.getOne('cards', standing.id, { tokenization: true })
        expect(fields).toMatchObject({ number: standing.tokens.number, backup: tokens.backup })
      },
    )

    it(`is returned by ${verb} to callers who can read the value at any level`, async () => {
      const { session, standing } = await open(engine, 'reader')
      expect((await change(session, standing.id)).number).toBe(standing.tokens.number)
    })

    it(`is returned by ${verb} only in rows that the caller can read`, async () => {
      const north = await open(engine, 'northern')
      expect((await change(north.session, north.standing.id)).number).toBe(north.standing.tokens.number)
      const south = await open(engine, 'northern', 'south')
      expect((await change(south.session, south.standing.id)).number).toBeUndefined()
    })
  }

  it('is returned to the writer if it was minted for a value of their own', async () => {
    const { session, owner } = await open(engine, 'writer')
    const { id, tokens } = await insertOne(session, 'cards', { email: 'bo@acme.example', ...NEW })
    expect(tokens.number).toMatch(/^4012\d{12}$/)
    await owner.updateOne('cards', id, { number: null })
    const again = await session.updateOne('cards', id, NEW, { tokenization: true })
    expect(again.tokens.number).toMatch(/^4012\d{12}$/)
  })
})
