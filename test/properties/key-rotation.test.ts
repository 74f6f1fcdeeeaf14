/** The law of rotations of keys, and its negative control: a rotation that compares no versions. */
import { describe, expect, it } from 'vitest'
import { keyRotation, rotateOn } from '../laws/key-rotation.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { ENGINES } from '../support/storages/engines.ts'

itHolds(keyRotation)

describe.each(['memory', 'postgres'] as const)('on %s', (name) => {
  const engine = ENGINES[name]()
  it('a rotation that compares no versions is found out', { timeout: 120_000 }, async () => {
    const { failures } = await rotateOn(engine, 'blind', { isBlind: true })
    expect(failures.join('\n')).toContain('not as its writer stored it last')
  })
})
