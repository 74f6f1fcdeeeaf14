/** The law of previews, and its planted faults. */
import { expect, it } from 'vitest'
import { compareSeen, type MakePreview, ownPreview, seenAsLaw } from '../laws/seen-as.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { randomFor } from '../support/random/seeded-random.ts'
import { asLoose } from '../support/vaults/open-untyped.ts'
import { OWNER } from '../support/vaults/test-vault.ts'

const VAULTS = 15

itHolds(seenAsLaw)

async function runAll(makePreview: MakePreview) {
  const found = []
  for (let number = 0; number < VAULTS; number++) found.push(await compareSeen(randomFor(`seen as ${number}`), makePreview))
  return found
}

it('some records are lowered and some hidden, so that both are compared', async () => {
  const found = await runAll(ownPreview)
  expect(found.reduce((sum, { lowered }) => sum + lowered, 0)).toBeGreaterThan(VAULTS)
  expect(found.reduce((sum, { hidden }) => sum + hidden, 0)).toBeGreaterThan(VAULTS)
})

it('finds a preview that shows the level of the role alone', async () => {
  const faulty: MakePreview = async (scene) => {
    const { roles, context, purpose, redaction } = scene.input
    const other = {
      ...OWNER,
      roles,
      ...(context === undefined ? {} : { context }),
      ...(purpose === undefined ? {} : { purpose }),
    }
    const own = await asLoose(scene.vault.as(other as typeof OWNER))
      .get('persons', { redaction })
      .catch(() => ({ records: [] }))
    const shown = new Map(own.records.map(({ id, fields, levels }) => [id, { fields, levels }]))
    const { records } = await ownPreview(scene)
    return { records: records.map((record) => ({ ...record, theirs: shown.get(record.id) ?? record.theirs })) }
  }
  expect((await runAll(faulty)).flatMap(({ faults }) => faults)).toContain('cause is shown above its level')
})

it('finds a preview that ignores every DENY', async () => {
  const faulty: MakePreview = async (scene) => {
    const allowing = Object.entries(scene.policy).map(([role, own]) => [role, own.filter(({ effect }) => effect === 'ALLOW')])
    const { records } = await ownPreview({ ...scene, input: { ...scene.input, draft: Object.fromEntries(allowing) } })
    return { records: records.map((record) => ({ ...record, theirs: record.draft })) }
  }
  expect((await runAll(faulty)).flatMap(({ faults }) => faults)).toContainEqual(expect.stringMatching(/^shown /))
})
