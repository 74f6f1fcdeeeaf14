/** Calls that run as one take few turns: if they need more, each runs by itself. */
import { expect, it } from 'vitest'
import { systemScheduler } from '../../../src/adapters/system/system.ts'
import type { OperationContext } from '../../../src/core/execution/context.ts'
import { createJoinedCalls } from '../../../src/core/execution/joined-calls.ts'
import { ALONE } from '../../../src/core/unit-of-work/gather.ts'

it.each([
  [4, 'as one', { value: 'as one' }],
  [5, 'one by one', ALONE],
] as const)('a group that takes %i turns runs %s', async (turns, _, end) => {
  const calls = createJoinedCalls<OperationContext>(systemScheduler)
  const context = { barrier: {}, access: {}, scheduler: systemScheduler } as OperationContext // A group uses no other part.
  const joined = {
    keys: { turn: () => 'all' },
    async execute({ scheduler }: OperationContext, requests: readonly number[]) {
      for (let turn = 0; turn < turns; turn++) await scheduler.yield()
      return requests.map(() => 'as one')
    },
  }
  for (let call = 0; call < 4; call++) calls.begin()
  const ended = await Promise.all([1, 2, 3, 4].map((request) => calls.join(joined, context, request)))
  expect(ended).toEqual([1, 2, 3, 4].map(() => end))
})
