/** Property: a walk by cursors returns each record that was stored before it exactly once, whatever other handles change meanwhile. */
import { expect, it } from 'vitest'
import type { Session } from '../../src/index.ts'
import { type Clients, openClients } from '../support/audit/audited-clients.ts'
import { type SeededRandom, seededRandom } from '../support/random/seeded-random.ts'
import { onEachStorage } from '../support/storages/engines.ts'
import { OWNER } from '../support/vaults/test-vault.ts'

const WALKS = 12
/** Changes during one walk, at most. */
const CHANGES = 20
/** Columns that no change touches decide which records a walk finds. */
const READS = [
  { limit: 3 },
  { limit: 1 },
  { limit: 7, orderBy: 'DESCENDING' },
  { limit: 2, where: { country: 'SE' } },
  { limit: 4, where: { salary: [1, 2] }, orderBy: 'DESCENDING' },
] as const

/** What is stored: the ids of records by the country and salary that they keep. */
type Stored = Map<string, { readonly country: string; readonly salary: number }>

/** Inserts, deletes or updates some records by one of the handles. */
async function change(random: SeededRandom, sessions: readonly Session<Clients>[], stored: Stored): Promise<void> {
  const session = random.pick(sessions)
  const draw = random()
  if (draw < 0.5 || stored.size === 0) {
    const fields = Array.from({ length: 1 + random.below(4) }, () => ({
      name: 'Ann',
      country: random.pick(['SE', 'DE']),
      salary: 1 + random.below(3),
    }))
    const { records } = await session.insert(
      'clients',
      fields.map((one) => ({ fields: one })),
    )
    for (const [index, { id }] of records.entries()) stored.set(id, fields[index] ?? { country: '', salary: 0 })
    return
  }
  const ids = random.sample([...stored.keys()], 1 + random.below(3))
  if (draw < 0.75) {
    await session.delete('clients', ids)
    for (const id of ids) stored.delete(id)
    return
  }
  for (const id of ids) await session.updateOne('clients', id, { name: `Bo ${random.below(1000)}` })
}

function isFound(
  read: (typeof READS)[number],
  record: { readonly country: string; readonly salary: number } | undefined,
): boolean {
  if (record === undefined || !('where' in read)) return record !== undefined
  return Object.entries(read.where).every(([name, wanted]) => [wanted].flat().includes(Reflect.get(record, name)))
}

onEachStorage('a walk by cursors', (engine) => {
  it('skips and repeats no record that was there before it and still is when its page is read', {
    timeout: 120_000,
  }, async () => {
    const random = seededRandom(`page walks on ${engine.name}`)
    const place = engine.fresh()
    const vaults = [await openClients(place.open()), await openClients(place.open())]
    const sessions = vaults.map((vault) => vault.as(OWNER))
    const stored: Stored = new Map()
    for (let step = 0; step < 15; step++) await change(random, sessions, stored)
    let returned = 0
    for (let number = 0; number < WALKS; number++) {
      const read = READS[number % READS.length] ?? READS[0]
      const before = new Map([...stored].filter(([, record]) => isFound(read, record)))
      const seen: string[] = []
      let left = CHANGES
      for await (const { records } of random.pick(sessions).pages('clients', read)) {
        for (const { id } of records) {
          expect(stored.has(id)).toBe(true)
          seen.push(id)
        }
        // A walk goes on while records are added, so there is an end to the changes.
        for (let some = Math.min(left, random.below(4)); some > 0; some--, left--) await change(random, sessions, stored)
      }
      expect(new Set(seen).size).toBe(seen.length)
      const skipped = [...before.keys()].filter((id) => stored.has(id) && !seen.includes(id))
      expect(skipped).toEqual([])
      returned += seen.length
    }
    expect(returned).toBeGreaterThan(20)
  })

  it('that goes on from its last cursor finds later records, on postgres only those with higher ids', async () => {
    // The suite of the SQLite adapter shows that ids rise in the order of commits there.
    if (engine.name === 'sqlite') return
    const place = engine.fresh()
    const [one, two] = [(await openClients(place.open())).as(OWNER), (await openClients(place.open())).as(OWNER)]
    const later = async (after: string) => (await one.get('clients', { after, resumable: true })).records.length
    await one.insert('clients', [{ fields: { name: 'first of one' } }])
    await two.insert('clients', [{ fields: { name: 'first of two' } }])
    const { next: after } = await one.get('clients', { resumable: true })
    await one.insert('clients', [{ fields: { name: 'second of one' } }])
    expect(await later(after)).toBe(engine.name === 'postgres' ? 0 : 1)
    await two.insert('clients', [{ fields: { name: 'second of two' } }])
    expect(await later(after)).toBe(engine.name === 'postgres' ? 1 : 2)
    expect((await one.get('clients')).records).toHaveLength(4)
  })
})
