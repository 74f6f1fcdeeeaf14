/** Compare-and-set: reads return versions, and a change with the version of an earlier read is aborted if the record was written since. */
import { expect, expectTypeOf, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { column, createVault, defineSchema, type Session, type Vault } from '../../../src/index.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const schema = defineSchema({
  carts: {
    owner: column.string({ unique: true, token: 'random', redaction: 'PLAIN_TEXT' }),
    items: column.json({ redaction: 'PLAIN_TEXT' }),
    note: column.string({}),
  },
  other: { name: column.string({}) },
})
type Carts = (typeof schema)['tables']

const POLICY = {
  // Its grants depend on the values of a record.
  picker: [
    "ALLOW READ ON carts.* WHERE owner = 'ann'",
    "ALLOW UPDATE ON carts.* WHERE owner = 'ann'",
    "ALLOW DELETE ON carts.* WHERE owner = 'ann'",
  ],
  writer: ['ALLOW UPDATE ON carts.*', 'ALLOW DELETE ON carts.*'],
}
const PICKER = { actor: 'p', actorType: 'USER', roles: ['picker'] } as const

function openCarts(storage: StorageHandle): Promise<Vault<Carts>> {
  return createVault({ id: 'v1', schema, storage, keys: localKeys({ key: TEST_SECRET }), policy: POLICY })
}

async function insertCarts(session: Session<Carts>, ...owners: readonly string[]): Promise<string[]> {
  const { records } = await session.insert(
    'carts',
    owners.map((owner) => ({ fields: { owner, items: [] } })),
  )
  return records.map(({ id }) => id)
}

const versionOf = async (session: Session<Carts>, id: string) => (await session.getOne('carts', id, { version: true })).version

onEachStorage('versions', (engine) => {
  it('are returned where they are asked for, by every read of records, and the type says so', async () => {
    const carts = (await openCarts(engine.fresh().open())).as(OWNER)
    const [id = '', second = ''] = await insertCarts(carts, 'ann', 'bo')
    const version = await versionOf(carts, id)
    expect(version).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expectTypeOf(version).toEqualTypeOf<string>()
    const { records: byIds } = await carts.get('carts', { ids: [id], version: true })
    const { records: page } = await carts.get('carts', { version: true })
    const { records: found } = await carts.get('carts', { where: { owner: 'ann' }, version: true })
    const { records: tokens } = await carts.get('carts', { ids: [id], tokenization: true, version: true })
    const [token = ''] = tokens.map(({ tokens }) => tokens.owner ?? '')
    const { records: byToken } = await carts.getByTokens([token], { version: true })
    const { records: columnOnly } = await carts.getByTokens([token], { version: true, columnOnly: true })
    const { responses } = await carts.batch([{ get: 'carts', id, version: true }])
    const versions = [byIds, found, tokens, byToken, columnOnly].map(([record]) => record?.version)
    expect([...versions, page[0]?.version, responses[0].value.version]).toEqual(Array.from({ length: 7 }, () => version))
    for await (const { records } of carts.pages('carts', { version: true })) {
      expect(records.map((record) => record.version)).toEqual([version, await versionOf(carts, second)])
    }
    const plain = await carts.getOne('carts', id)
    expect(Object.keys(plain)).not.toContain('version')
    // @ts-expect-error A version that was not asked for.
    expect(plain.version).toBeUndefined()
    // @ts-expect-error A version is asked for by a flag.
    await expect(carts.getOne('carts', id, { version: 1 })).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('differ between records and between writes, and reads side by side get their own', async () => {
    const carts = (await openCarts(engine.fresh().open())).as(OWNER)
    const [id = '', second = ''] = await insertCarts(carts, 'ann', 'bo')
    const versions = new Set<string>()
    for (let round = 0; round < 3; round++) {
      const both = await Promise.all([versionOf(carts, id), carts.getOne('carts', id), versionOf(carts, second)])
      expect(Object.keys(both[1])).not.toContain('version')
      versions.add(both[0]).add(both[2])
      await carts.updateOne('carts', id, { items: [round] })
    }
    expect(versions.size).toBe(4)
  })

  it('are compared by updateOne, update, delete, deleteOne and the items of a batch', async () => {
    const vault = await openCarts(engine.fresh().open())
    const carts = vault.as(OWNER)
    for (const session of [carts, vault.as(PICKER)]) {
      for (const [name, change] of Object.entries(CHANGES)) {
        const [id = ''] = await insertCarts(carts, 'ann')
        const ifVersion = await versionOf(session, id)
        await carts.updateOne('carts', id, { items: ['other'] })
        await expect(change(session, { id, ifVersion }), name).rejects.toMatchObject({ code: 'aborted' })
        expect((await carts.getOne('carts', id)).fields.items, name).toEqual(['other'])
        await change(session, { id, ifVersion: (await versionOf(session, id)).toUpperCase() })
        const { records } = await carts.get('carts')
        expect(
          records.map(({ fields }) => fields.items),
          name,
        ).toEqual(name.includes('elete') ? [] : [['own']])
        await carts.delete('carts', '*')
      }
    }
  })

  it('of another record, another table or no record are refused, and of a missing or invisible record not found', async () => {
    const vault = await openCarts(engine.fresh().open())
    const carts = vault.as(OWNER)
    const [id = '', second = ''] = await insertCarts(carts, 'ann', 'bo')
    const { records } = await carts.insert('other', [{ fields: { name: 'x' } }])
    const foreign = (await carts.getOne('other', records[0]?.id ?? '', { version: true })).version
    const gone = await versionOf(carts, second)
    for (const change of Object.values(CHANGES)) {
      for (const ifVersion of [gone, foreign, id, '1', '']) {
        await expect(change(carts, { id, ifVersion })).rejects.toMatchObject({ code: 'invalid_request' })
      }
      // The picker sees no record of bo, whatever its version.
      await carts.updateOne('carts', second, { items: [1] })
      await expect(change(vault.as(PICKER), { id: second, ifVersion: gone })).rejects.toMatchObject({ code: 'not_found' })
    }
    // @ts-expect-error A version is a text.
    await expect(carts.updateOne('carts', id, { items: [] }, { ifVersion: 1 })).rejects.toMatchObject({
      code: 'invalid_request',
    })
    // @ts-expect-error An option that no deletion has.
    await expect(carts.deleteOne('carts', id, { ifversion: gone })).rejects.toMatchObject({ code: 'invalid_request' })
    await carts.deleteOne('carts', second)
    for (const change of Object.values(CHANGES)) {
      await expect(change(carts, { id: second, ifVersion: gone })).rejects.toMatchObject({ code: 'not_found' })
    }
  })

  it('of a list of changes are all or none, and name the one that moved', async () => {
    const carts = (await openCarts(engine.fresh().open())).as(OWNER)
    const ids = await insertCarts(carts, 'ann', 'bo', 'cy')
    const named = await Promise.all(ids.map(async (id) => ({ id, ifVersion: await versionOf(carts, id) })))
    await carts.updateOne('carts', ids[1] ?? '', { items: ['other'] })
    const changes = named.map((one) => ({ ...one, fields: { items: ['own'] } }))
    const moved = { code: 'aborted', details: [{ table: 'carts', index: 1 }] }
    await expect(carts.update('carts', changes)).rejects.toMatchObject(moved)
    await expect(carts.delete('carts', named)).rejects.toMatchObject(moved)
    await expect(carts.delete('carts', [ids[0] ?? '', named[1] ?? ''])).rejects.toMatchObject(moved)
    const { records } = await carts.get('carts')
    expect(records.map(({ fields }) => fields.items)).toEqual([[], ['other'], []])
    await carts.delete('carts', [ids[1] ?? '', ...named.slice(2), ...named.slice(2)])
    expect((await carts.get('carts')).records.length).toBe(1)
  })

  it('fail one item of a batch alone with continueOnError', async () => {
    const carts = (await openCarts(engine.fresh().open())).as(OWNER)
    const [id = '', second = ''] = await insertCarts(carts, 'ann', 'bo')
    const old = await versionOf(carts, id)
    await carts.updateOne('carts', id, { items: ['other'] })
    const { responses } = await carts.batch(
      [
        { update: 'carts', id, fields: { items: ['own'] }, ifVersion: old },
        { update: 'carts', id: second, fields: { items: ['own'] }, ifVersion: await versionOf(carts, second) },
        { delete: 'carts', id, ifVersion: old },
      ],
      { continueOnError: true },
    )
    expect(responses.map((response) => (response.ok ? 'ok' : response.error.code))).toEqual(['aborted', 'ok', 'aborted'])
    expect((await carts.get('carts')).records.map(({ fields }) => fields.items)).toEqual([['other'], ['own']])
  })

  it('of many callers with one version let exactly one of them change the record', async () => {
    const place = engine.fresh()
    const vaults = await Promise.all(['a', 'b'].map(() => openCarts(place.open())))
    const [first] = vaults
    if (first === undefined) throw new Error('no vault')
    const [id = '', other = ''] = await insertCarts(first.as(OWNER), 'ann', 'bo')
    const ifVersion = await versionOf(first.as(OWNER), id)
    const sessions = vaults.map((vault) => vault.as(OWNER))
    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 16 }, (_, caller) =>
        sessions[caller % 2]?.updateOne('carts', id, { items: [caller] }, { ifVersion }),
      ),
      // What shares a transaction with them is not at fault.
      ...Array.from({ length: 4 }, () => sessions[0]?.updateOne('carts', other, { note: 'x' })),
      sessions[0]?.updateOne('carts', id, { note: 'blind' }),
    ])
    const own = outcomes.slice(0, 16)
    expect(own.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1)
    for (const outcome of own) if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'aborted' })
    expect(outcomes.slice(16).map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'fulfilled'))
    const { items } = (await first.as(OWNER).getOne('carts', id)).fields
    expect(items).toEqual(own.flatMap(({ status }, caller) => (status === 'fulfilled' ? [caller] : [])))
  })

  it('are in no event', async () => {
    const carts = (await openCarts(engine.fresh().open())).as(OWNER)
    const [id = ''] = await insertCarts(carts, 'ann')
    const ifVersion = await versionOf(carts, id)
    await carts.updateOne('carts', id, { items: [] }, { ifVersion })
    await carts.deleteOne('carts', id, { ifVersion: await versionOf(carts, id) })
    const { events } = await carts.listEvents({ filterOps: { accountID: 'v1' } })
    expect(JSON.stringify(events)).toContain('ifVersion')
    expect(JSON.stringify(events)).not.toContain(ifVersion)
  })
})

/** Every change that takes a version. */
const CHANGES: Readonly<Record<string, (session: Session<Carts>, named: { id: string; ifVersion: string }) => Promise<unknown>>> =
  {
    updateOne: (session, { id, ifVersion }) => session.updateOne('carts', id, { items: ['own'] }, { ifVersion }),
    update: (session, named) => session.update('carts', [{ ...named, fields: { items: ['own'] } }]),
    delete: (session, named) => session.delete('carts', [named]),
    deleteOne: (session, { id, ifVersion }) => session.deleteOne('carts', id, { ifVersion }),
    'update item': (session, { id, ifVersion }) =>
      session.batch([{ update: 'carts', id, ifVersion, fields: { items: ['own'] } }]),
    'delete item': (session, { id, ifVersion }) => session.batch([{ delete: 'carts', id, ifVersion }]),
  }
