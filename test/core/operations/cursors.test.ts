/** Cursors of `get`: where a page goes on, which cursors are refused, and what a cursor shows. */
import { expect, it } from 'vitest'
import type { PolicyFor, SessionGetOptions } from '../../../src/index.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { type Clients, callerOf, eventsBy, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const POLICY = {
  swede: ["ALLOW READ, SEARCH ON clients.* WITH REDACTION = PLAIN_TEXT WHERE clients.country = 'SE'"],
  rich: ['ALLOW READ ON clients.* WITH REDACTION = PLAIN_TEXT WHERE clients.salary > 100'],
} as const satisfies PolicyFor<Clients>

/** Clients with the letters as names, in this order; capitals live in Sweden and are rich. */
async function open(storage: StorageHandle, letters: string, id = 'v1') {
  const vault = await openClients(storage, { id, policy: POLICY })
  const owner = vault.as(OWNER)
  const { records } = await owner.insert(
    'clients',
    [...letters].map((name, index) => {
      const isCapital = name === name.toUpperCase()
      return {
        fields: { name, email: `${name}${index}@acme.example`, country: isCapital ? 'SE' : 'DE', salary: isCapital ? 200 : 50 },
      }
    }),
  )
  return { vault, owner, ids: records.map((record) => record.id) }
}

type Session = Awaited<ReturnType<typeof open>>['owner']
type Options = SessionGetOptions<Clients['clients']>

/** The names of a page, and its cursor. */
async function page(session: Session, options: Options): Promise<[string, string | undefined]> {
  const { records, next } = await session.get('clients', { redaction: 'PLAIN_TEXT', limit: 2, ...options })
  return [records.map(({ fields }) => Reflect.get(fields, 'name')).join(''), next]
}

/** The names of all pages from a cursor on, with a stroke between two. */
async function walk(session: Session, options: Options = {}): Promise<string> {
  const names: string[] = []
  for (let after = options.after; ; ) {
    const [text, next] = await page(session, { ...options, ...(after === undefined ? {} : { after }) })
    names.push(text)
    if (next === undefined) return names.join('|')
    after = next
  }
}

onEachStorage('a cursor', (engine) => {
  it('leads through all records, in both orders, and is absent when there is no further record', async () => {
    const { owner } = await open(engine.fresh().open(), 'ABCDE')
    expect(await walk(owner)).toBe('AB|CD|E')
    expect(await walk(owner, { orderBy: 'DESCENDING' })).toBe('ED|CB|A')
    expect(await walk(owner, { limit: 5 })).toBe('ABCDE')
    expect(await walk(owner, { limit: 1 })).toBe('A|B|C|D|E')
    expect(await walk(owner, { orderBy: 'NONE', limit: 3 })).toBe('ABC|DE')
    expect((await owner.get('orders')).next).toBeUndefined()
    expect(await owner.get('orders')).not.toHaveProperty('next')
  })

  it('leads through the records with given values, in whichever order the values are listed', async () => {
    const { owner } = await open(engine.fresh().open(), 'AbCdEfG')
    const lookUp = { where: { country: ['SE', 'FR'] } } as const
    expect(await walk(owner, lookUp)).toBe('AC|EG')
    const [, after] = await page(owner, lookUp)
    expect(await page(owner, { where: { country: ['FR', 'SE', 'SE'] }, after: after ?? '' })).toEqual(['EG', undefined])
    const sealed = { where: { salary: 200 } } as const
    expect(await walk(owner, { ...sealed, orderBy: 'DESCENDING' })).toBe('GE|CA')
  })

  it('does not shift when records before it are deleted, nor when its own is, nor when others are added', async () => {
    const { owner, ids } = await open(engine.fresh().open(), 'ABCDE')
    const [first, after = ''] = await page(owner, {})
    expect(first).toBe('AB')
    await owner.delete('clients', ids.slice(0, 2))
    expect(await page(owner, { after })).toEqual(['CD', expect.any(String)])
    await owner.insert('clients', [{ fields: { name: 'F', email: 'f@acme.example' } }])
    expect(await walk(owner, { after })).toBe('CD|EF')
    await owner.delete('clients', '*')
    expect(await page(owner, { after })).toEqual(['', undefined])
  })

  it('skips the records that the policy hides, whether or not the storage can filter them, and does not count them', async () => {
    const { vault } = await open(engine.fresh().open(), 'aBcdEfgHiJklm')
    for (const role of ['swede', 'rich']) {
      const session = vault.as(callerOf(role))
      expect(await walk(session), role).toBe('BE|HJ')
      expect(await walk(session, { orderBy: 'DESCENDING', limit: 3 }), role).toBe('JHE|B')
    }
  })

  it('of a resumable read is there at the end too, and finds what comes later', async () => {
    const { owner } = await open(engine.fresh().open(), 'ABC')
    const empty = await owner.get('orders', { resumable: true })
    expect(empty.records).toEqual([])
    await owner.insert('orders', [{ fields: { memo: 'x' } }])
    expect((await owner.get('orders', { after: empty.next, resumable: true })).records).toHaveLength(1)
    const options = { resumable: true, limit: 2 } as const
    const [, second = ''] = await page(owner, options)
    const [last, end = ''] = await page(owner, { ...options, after: second })
    expect(last).toBe('C')
    const [none, still = ''] = await page(owner, { ...options, after: end })
    expect([none, still]).toEqual(['', end])
    await owner.insert('clients', [{ fields: { name: 'D' } }])
    expect(await page(owner, { ...options, after: still })).toEqual(['D', expect.any(String)])
  })

  it('of another read is refused, and so is any other text', async () => {
    const { owner, ids } = await open(engine.fresh().open(), 'ABCDE')
    const other = await open(engine.fresh().open(), 'ABCDE', 'v2')
    await owner.insert('orders', [{ fields: { memo: 'x' } }, { fields: { memo: 'y' } }], { tokenization: true })
    const { records } = await owner.get('clients', { tokenization: true })
    const tokens = records.flatMap(({ fields }) => [fields.name, fields.email])
    const [, after = ''] = await page(owner, {})
    const byCountry = { where: { country: 'SE' } } as const
    const wrong: Record<string, readonly [string | undefined, Options]> = {
      'of another table': [(await owner.get('orders', { limit: 1 })).next, {}],
      'of the other order': [after, { orderBy: 'DESCENDING' }],
      'of the other order, back': [(await page(owner, { orderBy: 'DESCENDING' }))[1], {}],
      'of every record': [after, byCountry],
      'of a look-up': [(await page(owner, byCountry))[1], {}],
      'of other values': [(await page(owner, byCountry))[1], { where: { country: ['SE', 'DE'] } }],
      'of another column': [(await page(owner, byCountry))[1], { where: { salary: 200 } }],
      'of another vault': [(await page(other.owner, {}))[1], {}],
      truncated: [after.slice(0, -1), {}],
      lengthened: [`${after}A`, {}],
      changed: [`${after.startsWith('A') ? 'B' : 'A'}${after.slice(1)}`, {}],
      'in other characters': ['é'.repeat(22), {}],
      empty: ['', {}],
      long: ['A'.repeat(1_000_000), {}],
      'a row id': ['2', {}],
    }
    for (const [index, id] of [...ids, ...tokens].entries()) {
      wrong[`the id or token ${index}`] = [id ?? 'none', {}]
      const bytes = Buffer.from(String(id).replaceAll('-', ''), 'hex')
      wrong[`the bytes of the id or token ${index}`] = [bytes.toString('base64url'), {}]
    }
    for (const [name, [text, options]] of Object.entries(wrong)) {
      expect(text, name).toBeTypeOf('string')
      const error: unknown = await page(owner, { ...options, after: text ?? '' }).catch((thrown: unknown) => thrown)
      expect(error, name).toMatchObject({
        code: 'invalid_request',
        message:
          'Get failed. after is not a cursor of this read. Pass the next of a page with the same table, where and orderBy.',
        details: [],
      })
    }
  })

  it('is neither a record id nor a token', async () => {
    const { owner } = await open(engine.fresh().open(), 'ABC')
    const [, after = ''] = await page(owner, {})
    const hex = Buffer.from(after, 'base64url').toString('hex')
    const uuid = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    for (const text of [after, uuid]) {
      await expect(owner.getOne('clients', text)).rejects.toMatchObject({ code: 'not_found' })
      await expect(owner.detokenize([{ token: text }])).rejects.toMatchObject({ code: 'not_found' })
    }
  })

  it('is the same for the same row and read, in every process, and stays valid after the vault was opened again', async () => {
    if (engine.name === 'memory') return
    const place = engine.fresh()
    const { vault, owner } = await open(place.open(), 'ABC')
    const [, after = ''] = await page(owner, {})
    await vault.close()
    const again = (await openClients(place.open())).as(OWNER)
    expect(await page(again, {})).toEqual(['AB', after])
    expect(await page(again, { after })).toEqual(['C', undefined])
  })

  it('is not recorded in events', async () => {
    const { vault, owner } = await open(engine.fresh().open(), 'ABC')
    const [, after = ''] = await page(owner, {})
    const { events } = await eventsBy(vault, () => page(owner, { after }))
    expect(events).toHaveLength(1)
    expect(JSON.stringify(events)).not.toContain(after)
    expect(JSON.stringify(events)).toContain('\\"after\\":\\"*REDACTED*\\"')
  })

  it('is refused beside an offset, ids, and other types than text', async () => {
    const { owner, ids } = await open(engine.fresh().open(), 'ABC')
    const [, after = ''] = await page(owner, {})
    const refused: readonly (readonly [string, object])[] = [
      ['after cannot be combined with offset.', { after, offset: 0 }],
      ['ids cannot be combined with after.', { after, ids }],
      ['ids cannot be combined with resumable.', { ids, resumable: true }],
      ['resumable cannot be combined with orderBy DESCENDING', { resumable: true, orderBy: 'DESCENDING' }],
      ['resumable must be true or false.', { resumable: 'yes' }],
      ['after must be a cursor', { after: 5 }],
      ['after', { after: null }],
      ['signal must be an AbortSignal.', { signal: 5 }],
      ['signal must be an AbortSignal.', { ids, signal: {} }],
    ]
    for (const [message, options] of refused) {
      await expect(owner.get('clients', options)).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining(message),
      })
    }
  })
})
