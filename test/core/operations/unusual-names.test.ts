/** Unknown names in requests: the error quotes them to the caller, and the event masks them. */
import { expect, it } from 'vitest'
import { eventsBy, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { asLoose, type LooseSession } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

/** A value in place of a name, which looks like a name. */
const STRANGE = 'hunter2_secret'
const NUMBER = 4_111_111_111_111_111

interface Given {
  readonly session: LooseSession
  readonly id: string
  query(sql: string): Promise<unknown>
}

type Naming = (given: Given) => Promise<unknown>

const NAMINGS: Readonly<Record<string, Naming>> = {
  'a table to get from': ({ session }) => session.get(STRANGE),
  'a column to get': ({ session }) => session.get('clients', { fields: ['name', STRANGE] }),
  'a column to get of one': ({ session, id }) => session.getOne('clients', id, { fields: [STRANGE] }),
  'a column to look up': ({ session }) => session.get('clients', { where: { [STRANGE]: 'x' } }),
  'a table to insert into': ({ session }) => session.insert(STRANGE, [{ fields: {} }]),
  'a column to insert': ({ session }) => session.insert('clients', [{ fields: { name: 'n', [STRANGE]: 'x' } }]),
  'a token to insert': ({ session }) =>
    session.insert('clients', [{ fields: { name: 'n' }, tokens: { [STRANGE]: 'x' } }], { byot: 'ENABLE' }),
  'a column to upsert by': ({ session }) => session.insert('clients', [{ fields: { name: 'n' } }], { upsert: STRANGE }),
  'a table to update': ({ session, id }) => session.updateOne(STRANGE, id, { name: 'n' }),
  'a column to update': ({ session, id }) => session.updateOne('clients', id, { [STRANGE]: 'x' }),
  'a table to delete from': ({ session, id }) => session.delete(STRANGE, [id]),
  'a table to empty': ({ session }) => session.delete(STRANGE, '*'),
  'a column to tokenize': ({ session }) => session.tokenize([{ table: 'clients', column: STRANGE, value: 'x' }]),
  'a table to tokenize': ({ session }) => session.tokenize([{ table: STRANGE, column: 'name', value: 'x' }]),
  'a group to tokenize': ({ session }) => session.tokenize([{ columnGroup: STRANGE, value: 'x' }]),
  'a table to query': ({ query }) => query(`SELECT name FROM ${STRANGE}`),
  'a column to select': ({ query }) => query(`SELECT ${STRANGE} FROM clients`),
  'a column of a condition': ({ query }) => query(`SELECT name FROM clients WHERE ${STRANGE} = 'x'`),
  'a column beside a table': ({ query }) => query(`SELECT name FROM clients WHERE clients.${STRANGE} IS NULL`),
}

onEachStorage('an unknown name', (engine) => {
  it('is quoted in the error and masked in the event, in every argument', async () => {
    const vault = await openClients(engine.fresh().open())
    const owner = vault.as(OWNER)
    const { records } = await owner.insert('clients', [{ fields: { name: 'Ann' } }])
    const given: Given = { session: asLoose(owner), id: records[0]?.id ?? '', query: (sql) => owner.query(sql) }
    for (const [what, naming] of Object.entries(NAMINGS)) {
      const { error, events } = await eventsBy(vault, () => naming(given))
      expect(error, what).toMatchObject({ name: 'VaultError', message: expect.stringContaining(STRANGE) })
      expect(events, what).toHaveLength(1)
      expect(JSON.stringify(events), what).not.toContain(STRANGE)
      const message = error instanceof Error ? error.message.replaceAll(`"${STRANGE}"`, '*UNKNOWN*') : ''
      expect(events[0]?.message, what).toBe(message)
    }
  })

  it('leaves names of the schema unmasked', async () => {
    const vault = await openClients(engine.fresh().open())
    const { error, events } = await eventsBy(vault, () => asLoose(vault.as(OWNER)).get('clients', { fields: ['email', STRANGE] }))
    expect(error).toMatchObject({ message: expect.stringMatching(new RegExp(`Column "${STRANGE}" of table "clients"`)) })
    expect(events[0]?.message).toContain('Column *UNKNOWN* of table "clients"')
  })

  it('is replaced in the recorded request, and so is a number in place of a choice', async () => {
    const vault = await openClients(engine.fresh().open())
    const session = asLoose(vault.as(OWNER))
    const calls: readonly Naming[] = [
      () => session.get('clients', { redaction: NUMBER }),
      () => session.get('clients', { where: { [NUMBER]: [NUMBER] } }),
      () => session.get('clients', { orderBy: NUMBER, tokenization: NUMBER }),
      () => session.insert('clients', [{ fields: { name: 'n' } }], { upsert: NUMBER, byot: NUMBER, homogeneous: NUMBER }),
      () => session.detokenize([{ token: 'x', redaction: NUMBER }], { continueOnError: NUMBER }),
      () => session.tokenize([{ table: NUMBER, column: NUMBER, columnGroup: NUMBER, value: NUMBER }]),
      () => session.get('clients', { [STRANGE]: NUMBER }),
    ]
    for (const [index, call] of calls.entries()) {
      const { error, events } = await eventsBy(vault, () => call({ session, id: '', query: async () => {} }))
      expect(error, String(index)).toMatchObject({ name: 'VaultError' })
      expect(events, String(index)).toHaveLength(1)
      expect(JSON.stringify(events), String(index)).not.toMatch(new RegExp(`${NUMBER}|${STRANGE}`))
      expect(events[0]?.content, String(index)).toContain('*REDACTED*')
    }
    // Members that are numbers are recorded as they are.
    const { events } = await eventsBy(vault, () => session.get('clients', { limit: 7, offset: 3 }))
    expect(JSON.parse(events[0]?.content ?? '')).toEqual({ table: 'clients', limit: 7, offset: 3 })
  })
})
