/** JSON of long bodies: it is the text that `JSON.stringify` writes, in slices of any number of items, and short bodies make no promise. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonBody } from '../../../src/http/router/json-response.ts'

const SEED = 11
const KIB = 1024

/** Returns the text of a body, and whether it took several turns. */
async function write(body: unknown): Promise<{ readonly text: string; readonly isLong: boolean }> {
  const written = jsonBody(body)
  if (!(written instanceof Promise)) return { text: written, isLong: false }
  return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await written), isLong: true }
}

const value = fc.oneof(fc.jsonValue(), fc.constant(undefined), fc.string({ unit: 'binary' }))

describe('the text of a body', () => {
  it('is that of JSON.stringify, with lists of any items among any members', async () => {
    const body = fc.dictionary(fc.string({ unit: 'binary' }), fc.oneof(value, fc.array(value, { maxLength: 100 })))
    await fc.assert(
      fc.asyncProperty(body, async (given) => {
        expect(await write(given)).toEqual({ text: JSON.stringify(given), isLong: false })
      }),
      { seed: SEED },
    )
  })

  it('is that of JSON.stringify for what is no object', async () => {
    for (const given of [null, 7, 'text', [], [1, 2], true]) expect((await write(given)).text).toBe(JSON.stringify(given))
  })

  it.each([
    ['many short items', Array.from({ length: 60_000 }, (_, index) => ({ id: index, name: `person ${index}` }))],
    ['long items', Array.from({ length: 9 }, (_, index) => ({ name: `${index}${'x'.repeat(300 * KIB)}` }))],
    ['long items after short ones', Array.from({ length: 200 }, (_, index) => 'é'.repeat(index < 100 ? 1 : 40 * KIB))],
    ['short items after long ones', Array.from({ length: 5000 }, (_, index) => '\u{1f600}"\n'.repeat(index < 5 ? 100 * KIB : 2))],
    ['lone surrogates', new Array(1000).fill('\ud800x\udfff'.repeat(100))],
    ['items that JSON does not have', Array.from({ length: 100_000 }, (_, index) => (index % 2 === 0 ? undefined : [null, {}]))],
    ['lists of items', Array.from({ length: 400 }, () => new Array(1000).fill(7))],
  ])('is the same in slices: %s', async (_, list) => {
    const body = { before: { a: [1, 2, 3] }, absent: undefined, list, between: 'text', again: list.slice(0, 3), after: null }
    const { text, isLong } = await write(body)
    expect(isLong).toBe(true)
    expect(text === JSON.stringify(body)).toBe(true)
  })

  it('is whole where slices end at the end of a list', async () => {
    for (let count = 2; count < 40; count++) {
      const body = { records: new Array(count).fill('x'.repeat(32 * KIB)) }
      expect((await write(body)).text === JSON.stringify(body)).toBe(true)
    }
  })
})
