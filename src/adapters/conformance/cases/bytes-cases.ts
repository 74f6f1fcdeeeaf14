/** Clause B: bytes in are bytes out, as a plain `Uint8Array` that is not shared. Those that were handed in are not changed. */

import type { Changes } from '../../../core/ports/storage.ts'
import { assert, assertEqual } from '../assert.ts'
import { ALL, above, among, and, below, EVERY, equal, idsFound, isNull, not, numbers, rowOf, THINGS, unequal } from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

const ALL_BYTES = Uint8Array.from(numbers(0, 256))

/** A subclass of `Uint8Array`, as some runtimes return bytes. */
class OddBytes extends Uint8Array<ArrayBuffer> {}

function assertPlain(cell: unknown, expected: Uint8Array): void {
  assert(
    cell instanceof Uint8Array && Object.getPrototypeOf(cell) === Uint8Array.prototype,
    'the cell should be a plain Uint8Array',
  )
  assertEqual(cell, expected)
}

export const bytesCases: readonly StorageCase[] = [
  storageCase('B1 get and find give plain Uint8Arrays with every byte as it was', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, b: ALL_BYTES }])
    assertPlain((await rowOf(storage, 'things', 1)).b, ALL_BYTES)
    const [found] = await storage.find('things', EVERY, ALL)
    assertPlain(found?.b, ALL_BYTES)
    const [inside] = await storage.transaction((inner) => inner.get('things', [1]))
    assertPlain(inside?.b, ALL_BYTES)
  }),
  storageCase('B2 empty bytes are bytes and not null', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, b: new Uint8Array(0) }, { id: 2 }])
    assertPlain((await rowOf(storage, 'things', 1)).b, new Uint8Array(0))
    assertEqual(await idsFound(storage, 'things', isNull('b')), [2])
    assertEqual(await idsFound(storage, 'things', equal('b', new Uint8Array(0))), [1])
  }),
  storageCase('B3 a megabyte of bytes comes back', [THINGS], async ({ storage }) => {
    const big = Uint8Array.from({ length: 1_048_576 }, (_, at) => (at * 31) & 0xff)
    await storage.insert('things', [{ id: 1, b: big }])
    assertPlain((await rowOf(storage, 'things', 1)).b, big)
  }),
  storageCase('B4 a window on larger memory is stored as the window alone', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, b: ALL_BYTES.subarray(10, 13) }])
    assertPlain((await rowOf(storage, 'things', 1)).b, new Uint8Array([10, 11, 12]))
  }),
  storageCase('B5 another kind of byte array comes back plain', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, b: OddBytes.from([1, 2]) }])
    await storage.update('things', [{ id: 1, version: 1, set: { b: OddBytes.from([3, 4]) } }])
    assertPlain((await rowOf(storage, 'things', 1)).b, new Uint8Array([3, 4]))
  }),
  storageCase('B6 changing an array after it was handed in or out changes no row', [THINGS], async ({ storage }) => {
    const given = new Uint8Array([1, 2, 3])
    await storage.insert('things', [{ id: 1, b: given }])
    given.fill(7)
    const out = (await rowOf(storage, 'things', 1)).b
    assertPlain(out, new Uint8Array([1, 2, 3]))
    if (out instanceof Uint8Array) out.fill(8)
    assertPlain((await rowOf(storage, 'things', 1)).b, new Uint8Array([1, 2, 3]))
  }),
  storageCase('B7 bytes compare byte by byte, the longer after its beginning', [THINGS], async ({ storage }) => {
    const sorted = [[], [0], [0, 0], [0, 255], [1], [127], [128], [255], [255, 0]].map((each) => new Uint8Array(each))
    await storage.insert(
      'things',
      sorted.map((b, at) => ({ id: at + 1, b })),
    )
    const middle = new Uint8Array([127])
    assertEqual(await idsFound(storage, 'things', below('b', middle)), numbers(1, 5))
    assertEqual(await idsFound(storage, 'things', above('b', middle)), numbers(7, 3))
    assertEqual(await idsFound(storage, 'things', equal('b', middle)), [6])
    assertEqual(await idsFound(storage, 'things', and(unequal('b', middle), above('b', new Uint8Array([0, 255])))), [5, 7, 8, 9])
  }),
  storageCase('B8 bytes are found among bytes', [THINGS], async ({ storage }) => {
    await storage.insert(
      'things',
      numbers(0, 256).map((each) => ({ id: each + 1, b: new Uint8Array([each, 0, each]) })),
    )
    const wanted = [0, 10, 34, 92, 128, 255].map((each) => new Uint8Array([each, 0, each]))
    assertEqual(await idsFound(storage, 'things', among('b', wanted)), [1, 11, 35, 93, 129, 256])
    assertEqual((await idsFound(storage, 'things', not(among('b', wanted)))).length, 250)
  }),
  storageCase(
    'B9 bytes that were handed in stay as they are, and so does the memory around them',
    [THINGS],
    async ({ storage }) => {
      const memory = Uint8Array.from(ALL_BYTES)
      const window = (at: number): Uint8Array => memory.subarray(at * 16, at * 16 + 16)
      const change = (version: number): Changes => ({
        updates: [
          { table: 'things', patches: [{ id: 1, version, set: { b: window(version + 1) }, expected: { b: window(version) } }] },
        ],
        inserts: [{ table: 'things', rows: [{ id: version + 1, b: window(version + 8) }] }],
      })
      await storage.insert('things', [{ id: 1, b: window(1) }])
      assertEqual(await storage.commit(change(1)), true)
      assertEqual(await storage.update('things', change(2).updates[0]?.patches ?? []), [true])
      await storage.getAndCommit?.('things', 1, change(3))
      await storage.transaction(async (inner) => {
        await inner.insert('things', [{ id: 9, b: window(14) }])
        await inner.commit({ updates: [], inserts: [{ table: 'things', rows: [{ id: 10, b: window(15) }] }] })
      })
      assertEqual(await idsFound(storage, 'things', among('b', [window(9), window(15)])), [2, 10])
      assertEqual(await storage.delete('things', { filter: equal('b', window(14)) }), [9])
      assertEqual(memory, ALL_BYTES)
    },
  ),
]
