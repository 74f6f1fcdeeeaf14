/** Looking up digests: the record with the lowest id of each, however many records share one and however often a digest is asked for. */
import { expect, it } from 'vitest'
import type { PhysicalTable } from '../../../src/core/ports/storage.ts'
import { type DigestColumn, findByDigest } from '../../../src/core/row-access/find-visible.ts'
import { onEachStorage } from '../../support/storages/engines.ts'

const PHYSICAL: PhysicalTable = {
  name: 'held',
  columns: [
    { name: 'body', type: 'bytes' },
    { name: 'digest', type: 'bytes' },
  ],
  indexes: [{ columns: ['digest'], unique: false }],
}
/** What the look-up reads of a layout. */
const HELD = { table: { physical: PHYSICAL }, column: { digest: 'digest' } } as DigestColumn

function digestOf(value: number): Uint8Array {
  return Uint8Array.from({ length: 16 }, (_, place) => (place === 15 ? value : 7))
}

onEachStorage('digests', (engine) => {
  it('find the first record of each value, also if a few values fill every page', async () => {
    const storage = engine.fresh().open()
    await storage.prepare([PHYSICAL])
    // The values 0 to 2 are common: each fills a page by itself. The values 100 to 139 are rare, and come after them.
    const values = [...Array.from({ length: 900 }, (_, n) => n % 3), ...Array.from({ length: 40 }, (_, n) => 100 + n)]
    const ids = await storage.reserveIds('held', values.length)
    const rows = values.map((value, n) => ({ id: ids[n] ?? 0, body: new Uint8Array(8).fill(value), digest: digestOf(value) }))
    await storage.insert('held', rows)
    const lists = [
      [],
      [250],
      [139],
      [0],
      [101, 101, 0, 101, 0],
      [...Array.from({ length: 140 }, (_, n) => 139 - n), 2, 139],
      Array.from({ length: 40 }, (_, n) => 100 + n),
    ]
    for (const list of lists) {
      const found = await findByDigest(storage, HELD, list.map(digestOf))
      const first = list.map((value) => rows[values.indexOf(value)])
      expect(found.map((row) => row?.id)).toEqual(first.map((row) => row?.id))
      expect(found.map((row) => row?.body)).toEqual(first.map((row) => row?.body))
    }
  })
})
