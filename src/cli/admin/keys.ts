/** The keys of the vault: `keys list`, `rotate`, `rewrap`, `destroy`, and the rotation of look-up keys. */
import type { CommandWork } from '../command.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import { timeOf } from '../output/cells.ts'
import { watch } from '../watch.ts'
import { assertSure } from './input.ts'

/** The work of `strongroom keys list`. */
export const listKeys: CommandWork = async ({ openVault, options, output, signal }) => {
  const vault = await openVault()
  const { fingerprint, keys, destroyed, isRotating, stragglers } = await vault.keys({ count: options.isSet('count'), signal })
  if (output.isJson) {
    const known = keys.map((key) => ({ ...key, since: timeOf(key.since) }))
    const gone = destroyed.map((key) => ({ ...key, at: timeOf(key.at) }))
    const behind = stragglers.map((one) => ({ ...one, openedAt: timeOf(one.openedAt) }))
    output.result({ fingerprint, keys: known, destroyed: gone, isRotating, stragglers: behind }, () => '')
    return undefined
  }
  const rows = keys.map(({ version, state, since, bodies }) => ({
    version,
    state,
    since: timeOf(since),
    ...(bodies === undefined ? {} : { bodies: sumOf(bodies) }),
  }))
  const gone = destroyed.map(({ version, at }) => ({ version, state: 'destroyed', since: timeOf(at) }))
  output.rows([...rows, ...gone].sort((left, right) => left.version - right.version))
  output.note(`Fingerprint: ${fingerprint}`)
  if (isRotating) output.note('A rotation has not ended. `strongroom keys rotate` goes on with it.')
  for (const { process, openedAt } of stragglers)
    output.note(`${process}, open since ${timeOf(openedAt)}, does not know the newest key. It learns it with its next write.`)
  return undefined
}

/** The work of `strongroom keys rotate`. */
export const rotate: CommandWork = async (run) => {
  const vault = await run.openVault()
  const settleMs = run.options.integer('wait')
  const isDry = run.options.isSet('dryRun')
  const result = await vault.rotateKeys({
    ...watch(run, 'bodies'),
    ...(settleMs === undefined ? {} : { settleMs: settleMs * 1000 }),
    dryRun: isDry,
  })
  const { version, resealed, unreadable } = result
  const many = sumOf(resealed)
  run.output.result(result, () => [
    isDry ? `Key ${version} would seal ${many} bodies again.` : `Key ${version} seals. ${many} bodies were sealed again.`,
    ...(unreadable === 0
      ? []
      : [`${unreadable} bodies do not open, and need an older key. \`strongroom audit verify\` and verifyRecords find them.`]),
  ])
  return unreadable === 0 ? undefined : EXIT.found
}

/** The work of `strongroom keys rewrap`. */
export const rewrap: CommandWork = async ({ openVault, output }) => {
  const vault = await openVault()
  output.result(await vault.rewrapKeys(), ({ rewrapped, keyIds }) =>
    rewrapped === 0
      ? `Nothing to do: the current key wraps them already (${keyIds.join(', ')}).`
      : `Wrapped ${rewrapped} again with ${keyIds.join(', ')}. The key before can be destroyed, and with it each backup made under it.`,
  )
  return undefined
}

/** The work of `strongroom keys destroy`. */
export const destroy: CommandWork = async ({ args, openVault, options, output, signal }) => {
  const [text = ''] = args
  const version = /^\d{1,5}$/.test(text) ? Number(text) : undefined
  if (version === undefined)
    throw new CommandFailure(EXIT.usage, 'Specify the version of a key, as `strongroom keys list` shows it.')
  const losing = options.integer('losing') ?? 0
  const vault = await openVault()
  await assertSure(`Destroy key ${version} for ever? What only it opens is lost.`, options.isSet('yes'))
  output.result(await vault.destroyKey(version, { losing, signal }), ({ lost }) =>
    lost === 0 ? `Key ${version} is destroyed.` : `Key ${version} is destroyed, and ${lost} bodies with it.`,
  )
  return undefined
}

/** The work of `strongroom keys rotate-lookups`. */
export const rotateLookups: CommandWork = async (run) => {
  const settleMs = run.options.integer('wait')
  const question = 'All ids and tokens get new forms, which applications must take over from the token map. Rotate?'
  const vault = await run.openVault()
  await assertSure(question, run.options.isSet('yes'))
  const result = await vault.rotateLookups({
    ...watch(run, 'rows'),
    ...(settleMs === undefined ? {} : { settleMs: settleMs * 1000 }),
  })
  const { version, before, replaced, unreadable } = result
  run.output.result(result, () => [
    `Key ${version} looks up. ${sumOf(replaced)} rows have new digests. Ids and tokens of key ${before} work on.`,
    'Next: `strongroom keys token-map <table>` for what others keep, then `strongroom keys finish-lookups`.',
    ...(unreadable === 0 ? [] : [`${unreadable} rows do not open: they keep finish-lookups from ending.`]),
  ])
  return unreadable === 0 ? undefined : EXIT.found
}

/** The work of `strongroom keys token-map`. */
export const tokenMap: CommandWork = async ({ args, openVault, output, signal }) => {
  const [table = ''] = args
  const vault = await openVault()
  for await (const record of vault.tokenMap({ table })) {
    signal.throwIfAborted()
    await output.piece(`${JSON.stringify(record)}\n`)
  }
  return undefined
}

/** The work of `strongroom keys finish-lookups`. */
export const finishLookups: CommandWork = async (run) => {
  const vault = await run.openVault()
  await assertSure('Ids and tokens from before the rotation no longer resolve. Finish?', run.options.isSet('yes'))
  run.output.result(await vault.finishLookups(watch(run, 'rows')), ({ destroyed, checked, tokens }) => [
    `Key ${destroyed} is destroyed. ${checked} rows were compared, and ${tokens} former tokens no longer resolve.`,
  ])
  return undefined
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, one) => sum + one, 0)
}
