/** Freed bytes are empty, and bytes that share their memory are left alone. */

import { expect, it } from 'vitest'
import { freeBytes } from '../../../src/core/util/free-bytes.ts'

it('long bytes that have their memory alone are empty afterwards', () => {
  const bytes = new Uint8Array(10_000)
  freeBytes(bytes)
  expect(bytes).toHaveLength(0)
})

it('short bytes, and a part of other bytes, are left as they are', () => {
  const short = new Uint8Array(100).fill(1)
  const whole = new Uint8Array(10_000).fill(2)
  freeBytes(short)
  freeBytes(whole.subarray(0, 9_999))
  expect(short).toEqual(new Uint8Array(100).fill(1))
  expect(whole).toEqual(new Uint8Array(10_000).fill(2))
})
