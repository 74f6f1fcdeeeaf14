/** The keys of the vault by version, a rotation that runs, and the end of a key that seals nothing any more. */
import { useState } from 'preact/hooks'
import type { OperationResult } from '../../../index.ts'
import { announce } from '../../app/announce.ts'
import { perform } from '../../app/api.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Failure } from '../../ui/failure.tsx'
import { useLoaded } from '../../ui/loaded.ts'
import { dateOf, type Job, Progress, usePace } from './jobs.tsx'

type Key = OperationResult<'describeKeys'>['keys'][number]

const MARKS: Readonly<Record<Key['state'], string>> = {
  active: 'chip ok',
  pending: 'chip accent',
  retired: 'chip masked',
  lookup: 'chip',
}
/** Digits of the fingerprint that are compared by eye. */
const PRINT = 16

function bodiesOf({ bodies }: Key): number | undefined {
  return bodies === undefined ? undefined : Object.values(bodies).reduce((sum, count) => sum + count, 0)
}

/** Draws the section. */
export function KeySection({ jobs }: { readonly jobs: readonly Job[] | undefined }) {
  const rotation = jobs?.find(({ job }) => job === 'rotateKeys')
  const [loaded, reload] = useLoaded(
    (signal) => perform('describeKeys', { count: true }, { signal }),
    // What a key seals is counted anew when a rotation begins and ends.
    [rotation === undefined],
  )
  const [asked, setAsked] = useState<'rotate' | Key | undefined>()
  const [failure, setFailure] = useState<unknown>()
  const report = loaded.value
  const rotate = (): void => {
    announce('Rotation begun')
    // It answers when everything is sealed anew: the list of jobs says how far it is.
    perform('rotateKeys', {}).then(
      () => {
        announce('Rotation done')
        reload()
      },
      (error: unknown) => setFailure(error),
    )
  }
  return (
    <section class="section" aria-label="Keys" aria-busy={loaded.isLoading}>
      <header class="section-head">
        <h2>Keys</h2>
        <button type="button" class="button" disabled={rotation !== undefined} onClick={() => setAsked('rotate')}>
          {report?.isRotating === true ? 'Go on with the rotation' : 'Rotate keys'}
        </button>
      </header>
      {loaded.failure === undefined ? null : <Failure error={loaded.failure} retry={reload} />}
      {failure === undefined ? null : <Failure error={failure} action="Hide" retry={() => setFailure(undefined)} />}
      {rotation === undefined ? null : <Rotation job={rotation} />}
      <table class="plain-table">
        <thead>
          <tr>
            <th>version</th>
            <th>state</th>
            <th>since</th>
            <th class="end">sealed with it</th>
            <th>
              <span class="spoken">end</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {[...(report?.keys ?? [])].reverse().map((key) => (
            <tr key={key.version}>
              <td>
                <b>{key.version}</b>
              </td>
              <td>
                <span class={MARKS[key.state]}>{key.state}</span>
              </td>
              <td>{dateOf(key.since)}</td>
              <td class="end">{bodiesOf(key)?.toLocaleString('en')}</td>
              <td class="end">
                {key.state === 'retired' ? (
                  <button
                    type="button"
                    class="button small danger"
                    disabled={bodiesOf(key) !== 0 || rotation !== undefined}
                    title={bodiesOf(key) === 0 ? undefined : 'Something is still sealed with it'}
                    onClick={() => setAsked(key)}
                  >
                    Destroy version {key.version}
                  </button>
                ) : null}
              </td>
            </tr>
          ))}
          {report?.destroyed.map(({ version, at }) => (
            <tr key={version} class="faint">
              <td>{version}</td>
              <td>
                <span class="chip">destroyed</span>
              </td>
              <td>{dateOf(at)}</td>
              <td />
              <td />
            </tr>
          ))}
        </tbody>
      </table>
      {report === undefined ? null : (
        <p class="faint">
          Fingerprint <span class="mono">{report.fingerprint.slice(0, PRINT)}</span>
          {report.stragglers.length === 0
            ? '. Every process knows the newest key.'
            : `. Not yet known to ${report.stragglers.map(({ process }) => process).join(', ')}.`}
        </p>
      )}
      {asked === 'rotate' ? (
        <Confirm title="Rotate keys" action="Rotate keys" run={async () => rotate()} onClose={() => setAsked(undefined)}>
          <p>
            A new key seals what is written from now on, and everything that is stored is sealed anew. Readers and writers go on.
          </p>
        </Confirm>
      ) : asked === undefined ? null : (
        <Confirm
          title={`Destroy version ${asked.version}`}
          action={`Destroy version ${asked.version}`}
          typed={`version ${asked.version}`}
          run={async () => {
            await perform('destroyKey', { version: asked.version })
            announce(`Version ${asked.version} destroyed`)
            reload()
          }}
          onClose={() => setAsked(undefined)}
        >
          <p>Nothing is sealed with it any more. Backups from before its rotation open with their own copy of it.</p>
        </Confirm>
      )}
    </section>
  )
}

function Rotation({ job }: { readonly job: Job }) {
  const pace = usePace(job)
  return (
    <div class="rotation">
      <Progress of={job} />
      <p>
        <b>{job.done.toLocaleString('en')}</b>
        {job.total === undefined ? '' : ` of ${job.total.toLocaleString('en')}`} sealed anew{pace}
      </p>
    </div>
  )
}
