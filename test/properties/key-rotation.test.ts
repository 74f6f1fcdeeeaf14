/** The law of rotations of keys, and its negative control: a rotation that compares no versions. */
import { expect, it } from 'vitest'
import { keyRotation, rotateOn } from '../laws/key-rotation.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { memoryEngine } from '../support/storages/engines.ts'

itHolds(keyRotation)

it('a rotation that compares no versions is found out', async () => {
  const { failures } = await rotateOn(memoryEngine(), 'blind', { isBlind: true })
  expect(failures.join('\n')).toContain('not as its writer stored it last')
})
