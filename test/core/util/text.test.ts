/** Bytes as text: standard forms, and strict parsing. */
import { expect, it } from 'vitest'
import { toHex } from '../../../src/core/util/bytes.ts'
import { fromBase64, fromHex, toBase64 } from '../../../src/core/util/text.ts'

it('returns every byte from its hex digits', () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
  expect(fromHex(toHex(bytes))).toEqual(bytes)
})

it('writes standard base64 and rejects other forms', () => {
  for (let length = 0; length < 100; length++) {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 89 + length) & 0xff)
    expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'))
    expect(fromBase64(toBase64(bytes))).toEqual(bytes)
  }
  for (const text of ['A', 'AA', 'AAA', 'AB==', 'AAB=', 'AA=A', 'AAAA=', 'AA-_', 'AA==\n', '====', 'é==='])
    expect(fromBase64(text)).toBeUndefined()
})
