/** The law of published vectors, and its negative controls. */
import { expect, it } from 'vitest'
import { readVectors } from '../adapters/keys/read-vectors.ts'
import { checkGcm, publishedVectors } from '../laws/published-vectors.ts'
import { itHolds } from '../support/laws/it-holds.ts'

itHolds(publishedVectors)

it('a vector with another tag, message or associated data does not match', () => {
  const { cases } = readVectors<{ source: string; cases: readonly Parameters<typeof checkGcm>[0][] }>('aes-256-gcm')
  const vector = cases.find(({ message }) => message !== '')
  if (vector === undefined) throw new Error('no vector has a message')
  checkGcm(vector)
  for (const changed of [{ tag: '00'.repeat(16) }, { message: `ff${vector.message.slice(2)}` }, { aad: `${vector.aad}00` }]) {
    expect(() => checkGcm({ ...vector, ...changed })).toThrow()
  }
})
