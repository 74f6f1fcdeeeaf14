/** The law of rotations of keys, and its negative control: a rotation that compares no versions. */
import { expect, it } from 'vitest'
import { keyRotation, rotateOn } from '../laws/key-rotation.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { memoryEngine } from '../support/storages/engines.ts'

itHolds(keyRotation)

it('a rotation that compares no versions is found out', async () => {
  // A writer must come between the read and the write of a slice, which not every rotation sees.
  const found: string[] = []
  for (let turn = 0; turn < 10 && found.length === 0; turn++) {
    const { failures } = await rotateOn(memoryEngine(), `blind ${turn}`, { isBlind: true })
    found.push(...failures)
  }
  expect(found.join('\n')).toContain('not as its writer stored it last')
})
