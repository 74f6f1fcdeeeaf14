/** Law: a preview shows each cell as the other caller reads it, at the lower of both callers' levels, and no byte of a value that is above that. */
import { isDeepStrictEqual } from 'node:util'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import type { Redaction } from '../../src/core/redaction.ts'
import { column, isVaultError, mask } from '../../src/index.ts'
import { GRADES, REGIONS } from '../support/leaks/schemas.ts'
import { type RandomPolicy, randomCaller, randomPolicy } from '../support/policies/random-policies.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { asLoose, type Cells, type LooseVault, openLoose } from '../support/vaults/open-untyped.ts'
import { OWNER } from '../support/vaults/test-vault.ts'
import type { Law } from './law.ts'

/** The columns that conditions ask, and one of each level, with and without a mask. */
const COLUMNS = {
  region: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
  grade: column.integer({ redaction: 'PLAIN_TEXT' }),
  mail: column.string({ searchable: true, redaction: 'PLAIN_TEXT' }),
  name: column.string({ redaction: 'MASKED', mask: mask.keepFirst(1) }),
  code: column.string({ mask: mask.keepLast(2) }),
  cause: column.string({ redaction: 'PLAIN_TEXT', requires: ['purpose'] }),
} as const
const MARKED = ['mail', 'name', 'code', 'cause'] as const
const ROWS = 3
const PURPOSES = [{}, { purpose: 'CASE-7' }]
const REDACTIONS = ['DEFAULT', 'PLAIN_TEXT', 'MASKED'] as const
const DENSITY = { REDACTED: 0, MASKED: 1, PLAIN_TEXT: 2 } as const
type Level = keyof typeof DENSITY

/** A record as a caller sees it. */
export interface Seen {
  readonly fields: Cells
  readonly levels: Cells
}

/** A page of a preview. */
export interface Preview {
  readonly records: readonly { readonly id: string; readonly yours: Seen; readonly theirs: Seen; readonly draft: Seen }[]
}

/** A vault with several random policies at once, the names of whose roles end with their numbers. Opening it takes longer than a preview. */
interface PoliciesScene {
  readonly vault: LooseVault['vault']
  readonly policies: readonly RandomPolicy[]
  /** Ids of the records, and what must not be shown of each. */
  readonly marks: ReadonlyMap<string, Readonly<Record<string, string>>>
}

/** A preview to make: whose, as whom, and by which draft. */
export interface PreviewCase {
  readonly vault: LooseVault['vault']
  readonly policy: RandomPolicy
  readonly caller: typeof OWNER
  readonly input: { readonly roles: readonly string[]; readonly redaction: Redaction; readonly draft: RandomPolicy } & Cells
}

/** What makes the preview; a planted fault makes another one. */
export type MakePreview = (scene: PreviewCase) => Promise<Preview>

/** The preview of the vault. */
export const ownPreview: MakePreview = ({ vault, caller, input }) =>
  vault.as(caller).previewAccess(input) as unknown as Promise<Preview>

/** What was found: faults as texts, and how many previews lowered or hid what their caller sees. */
export interface Compared {
  readonly faults: string[]
  compared: number
  lowered: number
  hidden: number
}

const POLICIES = 4
/** A table can have 30 statements with WHERE. A draft replaces those of one policy by those of another one. */
const MAX_CONDITIONS = { policy: 10, vault: 20 }

async function openScene(random: SeededRandom): Promise<PoliciesScene> {
  const columns = Object.entries(COLUMNS).map(([name, definition]) => ({ name, form: 'STRING', definition }) as const)
  let conditions = 0
  const drawn = Array.from({ length: POLICIES }, () => randomPolicy(random, [{ name: 'persons', secrets: [], columns }]))
  const policies = drawn.filter((policy) => {
    const own = Object.values(policy).flatMap((statements) => statements.filter(({ where }) => where !== undefined)).length
    if (own > MAX_CONDITIONS.policy || conditions + own > MAX_CONDITIONS.vault) return false
    conditions += own
    return true
  })
  const policy = Object.assign({}, ...policies.map(numbered))
  const { vault, session } = await openLoose(memoryStorage(), { persons: COLUMNS }, { policy, audit: 'off' })
  const marks = Array.from({ length: ROWS }, (_, row) =>
    Object.fromEntries(MARKED.map((name) => [name, `${name} ${random.below(1e9)} of ${row}`])),
  )
  const fields = marks.map((marked) => ({ region: random.pick(REGIONS), grade: random.pick(GRADES), ...marked }))
  const { records } = await session.insert(
    'persons',
    fields.map((fields) => ({ fields })),
  )
  return { vault, policies, marks: new Map(records.map(({ id }, row) => [id, marks[row] ?? {}])) }
}

function numbered(policy: RandomPolicy, number: number): RandomPolicy {
  return Object.fromEntries(Object.entries(policy).map(([role, statements]) => [`${role}${number}`, statements]))
}

/** Compares random previews with what both callers read themselves, and the draft with what the callers of its policy read. */
export async function compareSeen(random: SeededRandom, makePreview: MakePreview): Promise<Compared> {
  const { vault, policies, marks } = await openScene(random)
  const found: Compared = { faults: [], compared: 0, lowered: 0, hidden: 0 }
  for (const [number, policy] of policies.entries()) {
    const caller = { ...OWNER, ...random.pick(PURPOSES) }
    const { roles, context } = randomCaller(random)
    const other = { ...(context === undefined ? {} : { context }), ...random.pick(PURPOSES) }
    const redaction = random.pick(REDACTIONS)
    // The draft gives the roles of each policy the statements of the next one.
    const next = (number + 1) % policies.length
    const draft = numbered(policies[next] ?? policy, number)
    const inPolicy = (number: number) => ({ ...other, roles: roles.map((role) => `${role}${number}`) })
    const input = { ...inPolicy(number), table: 'persons', redaction, draft }
    const preview = await makePreview({ vault, policy: numbered(policy, number), caller, input })
    const [yours, theirs, drafted] = [
      await seenBy(vault, caller, redaction),
      await seenBy(vault, { ...OWNER, ...inPolicy(number) }, redaction),
      await seenBy(vault, { ...OWNER, ...inPolicy(next) }, redaction),
    ]
    found.compared++
    if (
      !isDeepStrictEqual(
        preview.records.map(({ id }) => id),
        [...marks.keys()],
      )
    )
      found.faults.push('other records')
    for (const record of preview.records) {
      const own = yours.get(record.id) ?? NOTHING
      const lower = { theirs: lowerOf(own, theirs.get(record.id)), draft: lowerOf(own, drafted.get(record.id)) }
      found.faults.push(...faultsOf(record, { id: record.id, yours: own, ...lower }))
      found.faults.push(
        ...marksAbove(marks.get(record.id) ?? {}, [own, preview], [lower.theirs, record.theirs], [lower.draft, record.draft]),
      )
      const shown = Object.keys(own.fields).map((name) => levelOf(lower.theirs, name))
      if (shown.includes(undefined)) found.hidden++
      if (shown.includes('MASKED') || shown.includes('REDACTED')) found.lowered++
    }
  }
  await vault.close()
  return found
}

function faultsOf(record: Preview['records'][number], expected: object): string[] {
  return isDeepStrictEqual(record, expected) ? [] : [`shown ${JSON.stringify(record)}, not ${JSON.stringify(expected)}`]
}

/** Returns the columns whose values are in a part of a preview, and not in plain text for those who see it. */
function marksAbove(marks: Readonly<Record<string, string>>, ...parts: readonly (readonly [Seen, unknown])[]): string[] {
  return parts.flatMap(([seen, part]) => {
    const text = JSON.stringify(part)
    const above = Object.entries(marks).filter(([name, mark]) => levelOf(seen, name) !== 'PLAIN_TEXT' && text.includes(mark))
    return above.map(([name]) => `${name} is shown above its level`)
  })
}

const NOTHING: Seen = { fields: {}, levels: {} }

/** What a caller reads of each record, by its id. A record that they do not see is missing. */
async function seenBy(vault: LooseVault['vault'], caller: typeof OWNER, redaction: string): Promise<ReadonlyMap<string, Seen>> {
  try {
    const { records } = await asLoose(vault.as(caller)).get('persons', { redaction })
    return new Map(records.map(({ id, fields, levels }) => [id, { fields, levels }]))
  } catch (error) {
    if (isVaultError(error, 'forbidden')) return new Map()
    throw error
  }
}

function levelOf({ fields, levels }: Seen, name: string): Level | undefined {
  return name in fields ? ((levels[name] ?? 'PLAIN_TEXT') as Level) : undefined
}

/** Returns each cell that both see, as the one sees it who sees less of it. */
function lowerOf(one: Seen, other = NOTHING): Seen {
  const names = Object.keys(one.fields).filter((name) => name in other.fields)
  const lower = (name: string) => (density(one, name) < density(other, name) ? one : other)
  return {
    fields: Object.fromEntries(names.map((name) => [name, lower(name).fields[name]])),
    levels: Object.fromEntries(
      names.flatMap((name) => {
        const level = levelOf(lower(name), name)
        return level === undefined || level === 'PLAIN_TEXT' ? [] : [[name, level]]
      }),
    ),
  }
}

function density(seen: Seen, name: string): number {
  return DENSITY[levelOf(seen, name) ?? 'REDACTED']
}

/** A case is a vault with some random policies, and a random pair of callers for each. */
export const seenAsLaw: Law = {
  name: 'seen-as',
  statement: 'A preview shows each cell at the lower level of both callers, and nothing above',
  unit: 'policies',
  figures: { test: 1000, soak: 100_000 },
  weight: 1,
  open: () => ({
    async check({ random }) {
      const { faults, compared } = await compareSeen(random, ownPreview)
      if (faults.length > 0) throw new Error(faults.join('\n'))
      return compared
    },
  }),
}
