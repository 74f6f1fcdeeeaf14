/** Subjects: what an export has, what callers need, and who else is at work meanwhile. */
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { column, createVault, defineSchema, storedSchema } from '../../../src/index.ts'
import { memoryEngine, onEachStorage } from '../../support/storages/engines.ts'
import { openShop, storeCustomer } from '../../support/subjects/customers.ts'
import { waysToFind } from '../../support/subjects/find-anything.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const WHY = { reason: 'request 7' }
const READS = ['customers', 'orders', 'items', 'shipments', 'notes'].map(
  (table) => `ALLOW READ ON ${table}.* WITH REDACTION = PLAIN_TEXT`,
)
const POLICY = {
  reader: READS,
  'half reader': READS.slice(1),
  'reader of some': [...READS.slice(1), `ALLOW READ ON customers.* WITH REDACTION = PLAIN_TEXT WHERE email = 'bo@acme.example'`],
  'masked reader': READS.map((one) => one.replace('PLAIN_TEXT', 'REDACTED')),
  eraser: ['customers', 'orders', 'items', 'shipments', 'notes'].map((table) => `ALLOW DELETE ON ${table}.*`),
}
const callerOf = (role: string) => ({ actor: role, actorType: 'USER', roles: [role] }) as const

async function linesOf(lines: AsyncIterable<string>) {
  const all: string[] = []
  for await (const line of lines) all.push(line)
  return all
}

it('an export has the schema, all records, files with contents, events, and a manifest that holds for its lines', async () => {
  const { vault } = await openShop(memoryEngine().fresh().open())
  const ann = await storeCustomer(vault, 'Ann', 250)
  await storeCustomer(vault, 'Bo')
  const lines = await linesOf(vault.subjects.export(OWNER, 'customer', ann.id, { contents: true, events: true }))
  const parsed = lines.map((line) => JSON.parse(line))
  const ofType = (type: string, table?: string) =>
    parsed.filter((line) => line.type === type && (table === undefined || line.table === table))
  expect(parsed[0]).toMatchObject({ type: 'export', v: 1, vaultID: 'v1', kind: 'customer', id: ann.id })
  expect(ofType('table').map(({ table }) => table)).toEqual(['customers', 'orders', 'notes', 'shipments', 'items'])
  expect(ofType('record', 'customers')).toEqual([
    {
      type: 'record',
      table: 'customers',
      id: ann.id,
      fields: { name: 'Ann', email: 'Ann@Acme.example', ssn: 'ssn of Ann', card: expect.stringMatching(/^400000/) },
    },
  ])
  expect(ofType('record', 'orders').map(({ id }) => id)).toEqual(ann.orders)
  expect(ofType('record', 'items')).toHaveLength(500)
  expect(JSON.stringify(parsed)).not.toContain('Bo')
  const [named, ...pieces] = ofType('file', 'notes')
  expect(named).toMatchObject({ id: ann.notes[0], column: 'scan', fileName: 'Ann.png' })
  expect(Buffer.concat(pieces.map(({ content }) => Buffer.from(content, 'base64')))).toHaveLength(916)
  expect(ofType('event').map(({ actionType }) => actionType)).toEqual(expect.arrayContaining(['INSERT', 'UPLOAD_FILE', 'UPDATE']))
  const manifest = parsed.at(-1)
  expect(manifest.type).toBe('manifest')
  let from = 0
  for (const part of manifest.parts) {
    const text = lines.slice(from, from + part.lines).map((line) => `${line}\n`)
    expect(createHash('sha256').update(text.join('')).digest('hex')).toBe(part.sha256)
    from += part.lines
  }
  expect(from).toBe(lines.length - 1)
  const short = await linesOf(vault.subjects.export(OWNER, 'customer', ann.id))
  expect(short.filter((line) => /"content"|"type":"event"/.test(line))).toEqual([])
  await vault.close()
})

it('callers need all of a subject, and get less at no time: they are refused, and nothing is deleted', async () => {
  const { vault } = await openShop(memoryEngine().fresh().open(), { policy: POLICY })
  const ann = await storeCustomer(vault, 'Ann')
  const ways = await waysToFind(vault, ann)
  const find = (role: string) => vault.subjects.find(callerOf(role), 'customer', ann.id)
  expect((await find('reader')).tables.notes).toBe(2)
  for (const role of ['half reader', 'reader of some', 'eraser', 'unknown']) {
    await expect(find(role)).rejects.toMatchObject({ code: 'forbidden' })
    await expect(linesOf(vault.subjects.export(callerOf(role), 'customer', ann.id))).rejects.toMatchObject({ code: 'forbidden' })
  }
  for (const role of ['reader', 'unknown'])
    await expect(vault.subjects.forget(callerOf(role), 'customer', ann.id, WHY)).rejects.toMatchObject({ code: 'forbidden' })
  expect(await waysToFind(vault, ann)).toEqual(ways)
  await expect(linesOf(vault.subjects.export(callerOf('reader'), 'customer', ann.id, { events: true }))).rejects.toMatchObject({
    code: 'forbidden',
  })
  const masked = await linesOf(vault.subjects.export(callerOf('masked reader'), 'customer', ann.id))
  expect(masked.join()).not.toContain('ssn of Ann')
  expect(masked.join()).toContain('"levels":{"')
  expect(await vault.subjects.forget(callerOf('eraser'), 'customer', ann.id, WHY)).toMatchObject({ tables: { orders: 3 } })
  await vault.close()
})

it('what cannot be is refused in words: kinds, ids, reasons, signers, a transaction, and the schema of an older process', async () => {
  const storage = memoryEngine().fresh()
  const { vault } = await openShop(storage.open())
  const { id, orders } = await storeCustomer(vault, 'Ann')
  const { subjects } = vault
  await expect(subjects.find(OWNER, 'client', id)).rejects.toThrow('Subject "client" does not exist. Supported: customer.')
  for (const other of ['unknown', orders[0] ?? '', id.replace(/^./, (digit) => (digit === 'a' ? 'b' : 'a'))])
    for (const call of [subjects.find(OWNER, 'customer', other), subjects.forget(OWNER, 'customer', other, WHY)])
      await expect(call).rejects.toMatchObject({ code: 'not_found' })
  await expect(subjects.forget(OWNER, 'customer', id, { reason: '' })).rejects.toThrow('reason must be a text')
  const signer = { keyId: 'k', sign: async () => new Uint8Array(3) }
  await expect(subjects.forget(OWNER, 'customer', id, { ...WHY, signer: {} as never })).rejects.toThrow('must be a signer')
  await expect(vault.transaction(() => subjects.forget(OWNER, 'customer', id, WHY))).rejects.toMatchObject({ code: 'internal' })
  expect((await subjects.find(OWNER, 'customer', id)).tables).toMatchObject({ customers: 1 })
  const open = (schema: Parameters<typeof createVault>[0]['schema']) =>
    openVault({ ...SYSTEM_PORTS, id: 'v1', schema, storage: storage.open(), keys: localKeys({ key: TEST_SECRET }) })
  const whole = await open(storedSchema)
  expect((await whole.subjects.find(OWNER, 'customer', id)).tables).toMatchObject({ orders: 3 })
  await whole.close()
  await expect(subjects.forget(OWNER, 'customer', id, { ...WHY, signer })).rejects.toThrow('another length')
  expect(await subjects.forget(OWNER, 'customer', id, WHY)).toMatchObject({
    tables: { customers: 0 },
    previous: expect.any(String),
  })
  await vault.close()
})

it('a vault without subjects says so', async () => {
  const schema = defineSchema({ people: { name: column.string() } })
  const vault = await createVault({
    id: 'v1',
    schema,
    storage: memoryEngine().fresh().open(),
    keys: localKeys({ key: TEST_SECRET }),
  })
  await expect(vault.subjects.find(OWNER, 'person', 'x')).rejects.toThrow('The schema has no subjects.')
  await vault.close()
})

onEachStorage('forgetting beside writers', (engine) => {
  it('leaves no record that was committed before it, and others of another person as they are', async () => {
    const place = engine.fresh()
    const { vault } = await openShop(place.open(), { audit: 'off' })
    const { vault: other } = await openShop(place.open())
    const ann = await storeCustomer(vault, 'Ann', 20)
    const bo = await storeCustomer(vault, 'Bo')
    const stored: string[] = []
    let isForgotten = false
    const write = async (writer: number) => {
      for (let n = 0; !isForgotten; n++) {
        const number = `w${writer}/${n}`
        const { id } = await other.as(OWNER).insertOne('orders', { customer_id: n % 3 === 0 ? bo.id : ann.id, number })
        if (n % 3 !== 0) stored.push(id)
      }
    }
    const writers = [write(1), write(2), write(3)]
    while (stored.length < 10) await new Promise((resolve) => setTimeout(resolve, 1))
    const before = [...stored]
    const receipt = await vault.subjects.forget(OWNER, 'customer', ann.id, WHY)
    isForgotten = true
    await Promise.all(writers)
    expect(receipt.changeID).toBeUndefined()
    expect(receipt.tables.orders).toBeGreaterThanOrEqual(20 + before.length)
    const session = vault.as(OWNER)
    for (const id of before) await expect(session.getOne('orders', id)).rejects.toMatchObject({ code: 'not_found' })
    const late = (await session.get('orders', { where: { customer_id: ann.id }, limit: 1000 })).records
    expect((await vault.subjects.forget(OWNER, 'customer', ann.id, WHY)).tables.orders).toBe(late.length)
    expect((await session.get('orders', { where: { customer_id: ann.id } })).records).toEqual([])
    expect((await vault.subjects.find(OWNER, 'customer', bo.id)).tables.orders).toBeGreaterThan(3)
    await other.close()
    await vault.close()
  })
})
