/** Reads have the levels of the fields that are not in plain text, or refuse them; writes refuse what is shown in place of a value. */
import { expect, it } from 'vitest'
import { mask } from '../../../src/core/redaction.ts'
import type { TableDefinition } from '../../../src/core/schema/column.ts'
import { type Caller, column, isVaultError } from '../../../src/index.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { eventsBy } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { asLoose, type Cells, type LooseSession, openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const people = {
  name: column.string({ redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
  email: column.string({ unique: true, redaction: 'MASKED', mask: mask.email }),
  born: column.date({ redaction: 'MASKED', mask: mask.replace({ find: '-[0-9]{2}$', replace: '-01' }) }),
  visits: column.integer({ redaction: 'MASKED', mask: mask.replace({ find: '[0-9]{2}$', replace: '00' }) }),
  note: column.json(),
  nick: column.string({ redaction: 'MASKED', mask: mask.keepLast(1), encrypted: false }),
  code: column.string({ token: 'transient' }),
  country: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
} satisfies TableDefinition

const POLICY = {
  masked: ['ALLOW CREATE, READ, UPDATE, DETOKENIZATION ON people.*', 'ALLOW READ ON people.name WITH REDACTION = MASKED'],
  redacted: ['ALLOW CREATE, READ, UPDATE ON people.* WITH REDACTION = REDACTED'],
  plain: ['ALLOW CREATE, READ, UPDATE, DETOKENIZATION ON people.* WITH REDACTION = PLAIN_TEXT'],
  writer: ['ALLOW CREATE, UPDATE ON people.*'],
  swede: [
    'ALLOW CREATE, READ, UPDATE ON people.* WITH REDACTION = MASKED',
    "ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT WHERE country = 'SE'",
    "DENY READ ON people.note WHERE country = 'DE'",
  ],
}

const URSULA = {
  name: 'Ursula',
  email: 'ursula@acme.example',
  born: '1961-07-23',
  visits: 1234,
  note: { vip: true },
  nick: 'Ursi',
  country: 'SE',
}
const BERND = { ...URSULA, name: 'Bernd', email: 'bernd@acme.example', country: 'DE' }
const LOWERED = {
  name: 'MASKED',
  email: 'MASKED',
  born: 'MASKED',
  visits: 'MASKED',
  note: 'REDACTED',
  nick: 'MASKED',
}

/** What a caller at the columns' own levels is shown of Ursula. */
const SHOWN = {
  name: 'U*****',
  email: 'u***@acme.example',
  born: '1961-07-01',
  visits: '1200',
  note: '*REDACTED*',
  nick: '***i',
  country: 'SE',
}

interface Opened {
  readonly vault: Awaited<ReturnType<typeof openLoose>>['vault']
  readonly owner: LooseSession
  /** Ids and name tokens of Ursula and Bernd. */
  readonly ids: readonly string[]
  readonly tokens: readonly string[]
  as(role: keyof typeof POLICY): LooseSession
}

async function open(storage: StorageHandle): Promise<Opened> {
  const { vault, session: owner } = await openLoose(storage, { people }, { policy: POLICY })
  const { records } = await owner.insert('people', [{ fields: URSULA }, { fields: BERND }], { tokenization: true })
  const as = (role: string) =>
    asLoose(vault.as({ actor: 'robin@acme.example', actorType: 'USER', roles: [role] } satisfies Caller))
  return { vault, owner, as, ids: records.map(({ id }) => id), tokens: records.map(({ tokens }) => tokens.name ?? '') }
}

/** Code and message of the refusal, with its details. */
async function refusal(work: Promise<unknown>): Promise<Cells> {
  try {
    return { answered: await work }
  } catch (error) {
    if (!isVaultError(error)) throw error
    return { code: error.code, message: error.message, details: error.details }
  }
}

const REFUSED = { code: 'unprocessable' }

onEachStorage('a read of lowered fields', (engine) => {
  it('has the levels of the fields that are not in plain text, by get, getOne and getByTokens', async () => {
    const { as, ids, tokens } = await open(engine.fresh().open())
    const [id = ''] = ids
    const caller = as('masked')
    const one = await caller.getOne('people', id)
    expect(one).toEqual({ id, fields: SHOWN, levels: LOWERED })
    const { records } = await caller.get('people', { redaction: 'PLAIN_TEXT' })
    expect(records.map(({ levels }) => levels)).toEqual([LOWERED, LOWERED])
    const [found] = (await caller.getByTokens([tokens[0], 'none'])).records
    expect(found).toMatchObject({ id, levels: LOWERED })
  })

  it('has none in plain text, and only asked ones with fields', async () => {
    const { as, ids } = await open(engine.fresh().open())
    const [id = ''] = ids
    expect((await as('plain').getOne('people', id, { redaction: 'PLAIN_TEXT' })).levels).toEqual({})
    expect((await as('masked').getOne('people', id, { fields: ['country', 'nick'] })).levels).toEqual({ nick: 'MASKED' })
    // A caller who may see more but asks for less is shown less, too.
    expect((await as('plain').getOne('people', id)).levels).toEqual(LOWERED)
    expect((await as('plain').getByTokens(['none'])).records).toEqual([
      { token: 'none', fields: {}, levels: {}, error: 'Token Not Found', code: 'not_found' },
    ])
  })

  it('has them record by record under a conditional policy', async () => {
    const { as } = await open(engine.fresh().open())
    const { records } = await as('swede').get('people', { redaction: 'PLAIN_TEXT' })
    const { note, ...others } = LOWERED
    expect(records.map(({ levels }) => levels)).toEqual([{}, { ...others, country: note }])
    expect(records[1]?.fields).not.toHaveProperty('note')
  })

  it('is a member of detokenized values', async () => {
    const { as, tokens } = await open(engine.fresh().open())
    const [token = ''] = tokens
    const own = { token, valueType: 'STRING', value: 'U*****', table: 'people', column: 'name', level: 'MASKED' }
    expect((await as('masked').detokenize([{ token, redaction: 'PLAIN_TEXT' }])).records).toEqual([own])
    expect((await as('plain').detokenize([{ token }, { token, redaction: 'PLAIN_TEXT' }])).records).toEqual([
      own,
      { token, valueType: 'STRING', value: 'Ursula', table: 'people', column: 'name' },
    ])
  })

  it('has them by the keys of a query, also of cells that are hidden behind a null', async () => {
    const { as } = await open(engine.fresh().open())
    const ask = async (role: keyof typeof POLICY, sql: string) => (await as(role).query(sql)).records
    expect(
      await ask('swede', "SELECT REDACTION(name, 'PLAIN_TEXT') AS n, REDACTION(svc_id, 'REDACTED') AS i FROM people"),
    ).toEqual([
      { fields: { n: 'Ursula', i: '*REDACTED*' }, levels: { i: 'REDACTED' } },
      { fields: { n: 'B****', i: '*REDACTED*' }, levels: { n: 'MASKED', i: 'REDACTED' } },
    ])
    const [, german] = await ask('swede', 'SELECT * FROM people')
    expect(german?.fields.note).toBe(null)
    expect(german?.levels).toEqual({ ...LOWERED, note: 'HIDDEN', country: 'REDACTED' })
    expect(await ask('plain', 'SELECT COUNT(*) AS c FROM people')).toEqual([{ fields: { c: 2 }, levels: {} }])
    // An unmatched row of a join has no value that could be lowered.
    const [unmatched] = await ask('masked', "SELECT b.name FROM people a LEFT JOIN people b ON b.svc_id = 'none' LIMIT 1")
    expect(unmatched).toEqual({ fields: { name: null }, levels: {} })
  })

  it('is not part of the token view', async () => {
    const { as, ids } = await open(engine.fresh().open())
    expect(await as('masked').getOne('people', ids[0] ?? '', { tokenization: true })).not.toHaveProperty('levels')
  })
})

onEachStorage('onLowered: throw', (engine) => {
  it('refuses the whole read before anything is shown, naming table and columns', async () => {
    const { vault, as, ids, tokens } = await open(engine.fresh().open())
    const [id = ''] = ids
    const caller = as('masked')
    const asked = { fields: ['name', 'country'], redaction: 'PLAIN_TEXT', onLowered: 'throw' }
    const expected = {
      code: 'forbidden',
      message:
        'Get failed. Column "name" of table "people" would not be shown in plain text, and onLowered is throw. Ask for redaction PLAIN_TEXT, and the vault owner for READ at that level.',
      details: [{ table: 'people', column: 'name' }],
    }
    expect(await refusal(caller.get('people', asked))).toEqual(expected)
    expect(await refusal(caller.getOne('people', id, asked))).toEqual(expected)
    const all = await refusal(caller.getByTokens([tokens[0] ?? ''], { redaction: 'PLAIN_TEXT', onLowered: 'throw' }))
    expect(all.message).toContain('Columns "name", "email", "born", "visits", "note", "nick" of table "people" would not')
    expect(all.details).toEqual(Object.keys(LOWERED).map((name) => ({ table: 'people', column: name })))
    const { events } = await eventsBy(vault, () => refusal(caller.get('people', asked)))
    expect(events).toHaveLength(1)
    expect(JSON.stringify(events)).toContain('onLowered')
    expect(JSON.stringify(events)).not.toContain(id)
  })

  it('refuses a detokenized value, also with continueOnError, and the record of a query', async () => {
    const { as, tokens } = await open(engine.fresh().open())
    const [token = ''] = tokens
    const details = [{ table: 'people', column: 'name' }]
    for (const continueOnError of [false, true]) {
      const options = { onLowered: 'throw', continueOnError }
      const asked = { token, redaction: 'PLAIN_TEXT' }
      expect(await refusal(as('masked').detokenize([asked], options))).toMatchObject({ code: 'forbidden', details })
      expect((await as('plain').detokenize([asked], options)).records).toHaveLength(1)
    }
    expect(await refusal(as('plain').detokenize([{ token, redaction: 'MASKED' }], { onLowered: 'throw' }))).toMatchObject({
      code: 'invalid_request',
    })
    const sql = "SELECT country, REDACTION(name, 'PLAIN_TEXT') AS n FROM people"
    expect(await refusal(as('swede').query(sql, { onLowered: 'throw' }))).toMatchObject({
      code: 'forbidden',
      details: [{ table: 'people', column: 'country' }, ...details],
    })
    expect((await as('plain').query(sql, { onLowered: 'throw' })).records).toHaveLength(2)
    expect(await refusal(as('plain').query(sql, { onLowered: 'warn' }))).toMatchObject({ code: 'invalid_request' })
  })

  it('answers what is in plain text', async () => {
    const { as, ids, tokens } = await open(engine.fresh().open())
    const [id = ''] = ids
    const asked = { redaction: 'PLAIN_TEXT', onLowered: 'throw' }
    expect((await as('plain').getOne('people', id, asked)).fields).toEqual(URSULA)
    expect((await as('plain').getByTokens(tokens, asked)).records.map(({ fields }) => fields)).toEqual([URSULA, BERND])
    expect((await as('masked').get('people', { fields: ['country'], onLowered: 'throw' })).records).toHaveLength(2)
  })

  it('refuses if one record of the page is lowered, or leaves out a column that was asked for', async () => {
    const { as, ids } = await open(engine.fresh().open())
    const [swedish = '', german = ''] = ids
    const asked = { fields: ['note'], redaction: 'PLAIN_TEXT', onLowered: 'throw' }
    expect((await as('swede').getOne('people', swedish, asked)).fields).toEqual({ note: { vip: true } })
    for (const ids of [[german], [swedish, german]])
      expect(await refusal(as('swede').get('people', { ...asked, ids }))).toMatchObject({
        code: 'forbidden',
        details: [{ table: 'people', column: 'note' }],
      })
  })

  it('refuses any other word, the token view, and a redaction that lowers', async () => {
    const { as } = await open(engine.fresh().open())
    const caller = as('plain')
    for (const options of [
      { onLowered: 'warn' },
      { onLowered: true },
      { onLowered: 'throw', tokenization: true },
      { onLowered: 'throw', redaction: 'MASKED' },
      { onLowered: 'throw', redaction: 'REDACTED' },
    ])
      expect(await refusal(caller.get('people', options)), JSON.stringify(options)).toMatchObject({ code: 'invalid_request' })
    expect(await refusal(caller.getByTokens(['none'], { onLowered: 'throw', redaction: 'MASKED' }))).toMatchObject({
      code: 'invalid_request',
    })
  })
})

onEachStorage('a write of what was shown in place of a value', (engine) => {
  it('is refused by update, column by column, and the value stays', async () => {
    const { as, owner, ids } = await open(engine.fresh().open())
    const [id = ''] = ids
    for (const name of Object.keys(LOWERED)) {
      const written = SHOWN[name as keyof typeof SHOWN]
      const refused = await refusal(as('masked').updateOne('people', id, { [name]: written, country: 'NO' }))
      expect(refused, name).toEqual({
        code: 'unprocessable',
        message: `Update failed. Column "${name}" of table "people" cannot be set to the masked or redacted form of a value. Leave it out to keep the value; a session can write the text with allowShownText.`,
        details: [{ table: 'people', column: name }],
      })
    }
    expect((await owner.getOne('people', id, { redaction: 'PLAIN_TEXT' })).fields).toEqual(URSULA)
  })

  it('is refused by an upsert of an existing record, with its position', async () => {
    const { as, owner } = await open(engine.fresh().open())
    const records = [
      { fields: { email: 'new@acme.example', name: 'New' } },
      { fields: { email: URSULA.email, name: SHOWN.name } },
    ]
    expect(await refusal(as('masked').insert('people', records, { upsert: 'email' }))).toMatchObject({
      ...REFUSED,
      details: [{ table: 'people', column: 'name', index: 1 }],
    })
    expect((await owner.get('people')).records).toHaveLength(2)
  })

  it('is refused as *REDACTED* in any text or JSON column whose own level is lower, for every caller', async () => {
    const { as, ids } = await open(engine.fresh().open())
    const [id = ''] = ids
    for (const role of ['masked', 'redacted', 'writer', 'plain'] as const) {
      for (const name of ['name', 'email', 'note', 'nick', 'code']) {
        const fields = { [name]: '*REDACTED*' }
        expect(await refusal(as(role).updateOne('people', id, fields)), `${role} ${name}`).toMatchObject(REFUSED)
        expect(await refusal(as(role).insert('people', [{ fields: {} }, { fields }])), `${role} ${name}`).toMatchObject({
          ...REFUSED,
          details: [{ table: 'people', column: name, index: 1 }],
        })
        expect(
          await refusal(as(role).insert('people', [{ fields: { email: 'x@x.example', ...fields } }], { upsert: 'email' })),
        ).toMatchObject(REFUSED)
      }
    }
  })

  it('is refused for the owner as for all others, on every way of writing', async () => {
    const { vault, owner, ids } = await open(engine.fresh().open())
    const [id = ''] = ids
    const shown = (await owner.getOne('people', id)).fields
    expect(shown).toEqual(SHOWN)
    for (const name of Object.keys(LOWERED)) {
      const fields = { [name]: shown[name], country: 'NO' }
      const keyed = { fields: { email: URSULA.email, ...fields } }
      const post = { insert: 'people', upsert: 'email', fields: keyed.fields }
      for (const [way, work] of Object.entries({
        updateOne: () => owner.updateOne('people', id, fields),
        update: () => owner.update('people', [{ id, fields }]),
        updateWhere: () => owner.updateWhere('people', { email: URSULA.email }, fields),
        put: () => owner.batch([{ update: 'people', id, fields }]),
        inTransaction: () => vault.transaction((inner) => asLoose(inner.as(OWNER)).updateOne('people', id, fields)),
        // The shown form of the key is that of another record.
        ...(name !== 'email' && {
          upsert: () => owner.insert('people', [keyed], { upsert: 'email' }),
          post: () => owner.batch([post]),
          posts: () => owner.batch([{ ...post, fields: { email: 'new@acme.example' } }, post]),
        }),
      }))
        expect(await refusal(work()), `${way} ${name}`).toMatchObject({ ...REFUSED, details: [{ column: name }] })
    }
    expect((await owner.getOne('people', id, { redaction: 'PLAIN_TEXT' })).fields).toEqual(URSULA)
    expect((await owner.get('people')).records).toHaveLength(2)
  })

  it('is stored where the write says allowShownText', async () => {
    const { as, owner, ids } = await open(engine.fresh().open())
    const [id = ''] = ids
    const allow = { allowShownText: true }
    const put = { update: 'people', id, ...allow }
    const post = { insert: 'people', upsert: 'email', ...allow }
    const nameAfter = async (work: Promise<unknown>) => {
      await work
      const { name, note } = (await owner.getOne('people', id, { redaction: 'PLAIN_TEXT' })).fields
      await owner.updateOne('people', id, { name: 'Ursula', note: URSULA.note })
      return [name, note]
    }
    for (const role of ['plain', 'masked', 'writer'] as const) {
      const caller = as(role)
      for (const name of ['U*****', '*REDACTED*']) {
        const fields = { name, note: '*REDACTED*' }
        const both = [name, '*REDACTED*']
        expect(await nameAfter(caller.updateOne('people', id, fields, allow))).toEqual(both)
        expect(await nameAfter(caller.update('people', [{ id, fields }], allow))).toEqual(both)
        expect(await nameAfter(caller.batch([{ ...put, fields }]))).toEqual(both)
        if (role !== 'plain') continue
        expect(await nameAfter(caller.updateWhere('people', { email: URSULA.email }, fields, allow))).toEqual(both)
        const keyed = { email: URSULA.email, ...fields }
        expect(await nameAfter(caller.insert('people', [{ fields: keyed }], { upsert: 'email', ...allow }))).toEqual(both)
        expect(await nameAfter(caller.batch([{ ...post, fields: keyed }]))).toEqual(both)
      }
    }
    await as('writer').insert('people', [{ fields: { name: '*REDACTED*' } }], allow)
    expect(await refusal(owner.updateOne('people', id, {}, { allowShownText: 1 }))).toMatchObject({
      code: 'invalid_request',
    })
  })

  it('is a value like any other in a column whose own level is plain text', async () => {
    const { as, owner, ids } = await open(engine.fresh().open())
    await owner.updateOne('people', ids[0] ?? '', { country: '*REDACTED*' })
    await as('plain').insert('people', [{ fields: { country: '*REDACTED*' } }])
    expect(await refusal(as('redacted').insert('people', [{ fields: { country: '*REDACTED*' } }]))).toMatchObject(REFUSED)
  })

  it('does not reveal a guessed masked form to a caller who is not shown it: the text alone decides', async () => {
    const { as, owner, ids } = await open(engine.fresh().open())
    const [id = ''] = ids
    for (const role of ['redacted', 'writer'] as const) {
      const answers: Cells[] = []
      for (const name of ['U*****', 'V*****', '***']) answers.push(await refusal(as(role).updateOne('people', id, { name })))
      for (const answer of answers) expect(answer).toEqual(answers[0])
      expect(answers[0]).toMatchObject(REFUSED)
      // A mask that writes no stars writes what a value can be.
      for (const born of ['1961-07-01', '1961-08-01']) await as(role).updateOne('people', id, { born, name: 'Ursula' })
      await owner.updateOne('people', id, { born: URSULA.born })
    }
    const [unknown = ''] = (await as('plain').insert('people', [{ fields: {} }])).records.map((one) => one.id)
    await owner.delete('people', [unknown])
    expect(await refusal(as('masked').updateOne('people', unknown, { name: 'U*****' }))).toMatchObject({
      code: 'not_found',
    })
  })

  it('is the masked form of the stored value only: other values, nulls and tokens are written', async () => {
    const { as, owner, ids } = await open(engine.fresh().open())
    const [id = ''] = ids
    const fields = { name: 'B****', email: 'b***@acme.example', born: '1961-08-01', visits: 1300, nick: '**i', note: null }
    await as('masked').updateOne('people', id, fields, { tokens: { name: '*REDACTED*' }, byot: 'ENABLE' })
    expect((await owner.getOne('people', id, { redaction: 'PLAIN_TEXT' })).fields).toEqual({ ...fields, country: 'SE' })
    // The note is null now: nothing is shown in its place, but the text of a redacted value is refused all the same.
    await as('masked').updateOne('people', id, { note: { vip: false }, name: 'Ursula' })
    expect(await refusal(as('masked').updateOne('people', id, { note: '*REDACTED*' }))).toMatchObject(REFUSED)
  })

  it('is refused also where the value equals its masked form, except for those who see the value', async () => {
    const { as, ids } = await open(engine.fresh().open())
    const [id = ''] = ids
    await as('plain').updateOne('people', id, { name: '***', visits: 1200 }, { allowShownText: true })
    await as('plain').updateOne('people', id, { name: '***', visits: 1200 })
    expect(await refusal(as('masked').updateOne('people', id, { name: '***' }))).toMatchObject(REFUSED)
  })
})
