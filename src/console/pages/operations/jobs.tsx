/** The slow work of all processes: what runs, how far it is, at which rate, and what is left. */
import { useRef } from 'preact/hooks'
import type { OperationResult } from '../../../index.ts'

/** A job. Times are in milliseconds since 1970. */
export type Job = OperationResult<'listJobs'>['jobs'][number]

/** Draws how far a job is. */
export function Progress({ of: { done, total } }: { readonly of: Job }) {
  const share = total === undefined || total === 0 ? undefined : Math.min(1, done / total)
  return (
    <div
      class="progress"
      role="progressbar"
      aria-label="Progress"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={share === undefined ? undefined : Math.round(share * 100)}
    >
      <i ref={(bar) => bar?.style.setProperty('width', `${(share ?? 0) * 100}%`)} />
    </div>
  )
}

const SECOND = 1000

/** Returns the rate in rows a second and what is left, by what the page has seen of a job since it first saw it. */
export function usePace(job: Job | undefined): string {
  const first = useRef<{ readonly key: string; readonly at: number; readonly done: number } | undefined>(undefined)
  if (job === undefined) return ''
  const key = `${job.job} ${job.startedAt}`
  const now = Date.now()
  if (first.current?.key !== key || job.done < first.current.done) first.current = { key, at: now, done: job.done }
  const seconds = (now - first.current.at) / SECOND
  const rate = seconds === 0 ? 0 : (job.done - first.current.done) / seconds
  if (rate <= 0) return ''
  const pace = `, ${Math.round(rate).toLocaleString('en')} a second`
  return job.total === undefined ? pace : `${pace}, about ${lasting((job.total - job.done) / rate)} left`
}

function lasting(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}

/** Returns the words of a name such as `rotateKeys`. */
export function words(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/^./, (letter) => letter.toUpperCase())
}

/** Returns how long ago a time was. */
export function ago(ms: number): string {
  return `${lasting(Math.max(0, (Date.now() - ms) / SECOND))} ago`
}

/** Returns the day of a time, in UTC. */
export function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** Draws the section. */
export function JobSection({ jobs }: { readonly jobs: readonly Job[] | undefined }) {
  return (
    <section class="section" aria-label="Jobs" aria-busy={jobs === undefined}>
      <h2>Jobs</h2>
      {jobs?.length === 0 ? (
        <p class="faint">Nothing runs. Work of less than a second is not listed.</p>
      ) : (
        <table class="plain-table">
          <thead>
            <tr>
              <th>job</th>
              <th>state</th>
              <th>progress</th>
              <th>process</th>
              <th>started</th>
            </tr>
          </thead>
          <tbody>
            {jobs?.map((job) => (
              <tr key={`${job.job} ${job.startedAt} ${job.process}`}>
                <td>
                  <b>{words(job.job)}</b> {job.table}
                </td>
                <td>{job.isOverdue ? <span class="chip masked">overdue</span> : <span class="chip accent">running</span>}</td>
                <td class="wide">
                  <Progress of={job} />
                </td>
                <td class="mono">{job.process}</td>
                <td class="faint">{ago(job.startedAt)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
