/** The process of the writers: three update a person each, one inserts ten. Started by `writers.ts`, which asks for the number of calls. */
import { at } from '../../src/core/util/lists.ts'
import { createPeople } from '../fixtures/people.ts'
import { openPeopleVault } from '../fixtures/people-vaults.ts'
import { openPlace, type VaultPlace } from './writers.ts'

const SEED = 20_260_102
/** Records whose ids the writers know. */
const KNOWN = 1000

const vault = await openPeopleVault(openPlace(JSON.parse(process.argv[2] ?? '') as VaultPlace)) // Written by `writers.ts`.
const people = createPeople(SEED)
const stored = await vault.insert(people.next(KNOWN))

let calls = 0
let isStopped = false
const write = async (work: () => Promise<unknown>): Promise<void> => {
  while (!isStopped) {
    await work()
    calls++
  }
}
const update = () => {
  const { id } = at(stored, people.below(stored.length))
  return vault.updateOne(id, { city: at(people.next(1), 0).fields.city })
}
const writing = Promise.all([write(update), write(update), write(update), write(() => vault.insert(people.next(10)))])

// A run that is killed leaves no process behind.
process.once('disconnect', () => process.exit(isStopped ? 0 : 1))
process.on('message', async (question) => {
  if (question === 'stop') {
    isStopped = true
    await writing
    await vault.close()
  }
  process.send?.(calls)
})
await writing
