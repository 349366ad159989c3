// Rejected events and refused requests: reason, body, and how to send events again.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';

import { request, type Schemas, type RetryResult } from '../api/client';
import { queryClient } from '../api/hooks';
import { Code } from '../parts/Facets';
import { count, time } from '../parts/format';
import { ListTable } from '../parts/ListTable';
import { Page, Section } from '../parts/Page';
import { Failure } from '../parts/States';

const LIMIT = 1_000;

export function Rejected() {
  const [shown, show] = useState<Schemas['RejectedEvent']>();
  return (
    <Page title="Rejected events" hint="Rejected: acknowledged and stored, but not a valid event. Refused: not acknowledged; the producer received an error.">
      <Section title="Rejected">
        <ListTable
          question="rejected" usual="-received_at" empty="No rejected events."
          columns={[
            { id: 'received', sort: 'received_at', down: true, title: 'Received', value: (row) => time(row.received_at), width: '12rem' },
            { id: 'reason', sort: 'reason', title: 'Reason', value: (row) => row.reason, width: '9rem' },
            { id: 'field', sort: 'field', title: 'Field', value: (row) => row.field, width: '9rem' },
            { id: 'message', sort: 'message', title: 'Message', value: (row) => row.message, width: 'minmax(14rem, 3fr)' },
            { id: 'origin', title: 'File and line', value: (row) => row.origin, width: 'minmax(10rem, 2fr)' },
            { id: 'body', title: 'Body', value: (row) => row.body, width: '7rem',
              show: (row) => <button type="button" className="quiet" onClick={() => show(row)}>Show<span className="sr"> the body of {row.partition}/{row.sequence}</span></button> },
          ]}
        >
          {({ totalCount }) => totalCount > 0 && <Retry many={Math.min(totalCount, LIMIT)} />}
        </ListTable>
      </Section>
      <Section title="Refused requests">
        <ListTable
          question="refused" usual="-received_at" prefix="refused-" empty="No refused requests."
          columns={[
            { id: 'received', sort: 'received_at', down: true, title: 'Received', value: (row) => time(row.received_at), width: '12rem' },
            { id: 'status', sort: 'status', title: 'Status', value: (row) => row.status, width: '5rem' },
            { id: 'reason', sort: 'reason', title: 'Reason', value: (row) => row.reason, width: '9rem' },
            { id: 'count', sort: 'count', down: true, title: 'Count', value: (row) => row.count, width: '5rem' },
            { id: 'key', sort: 'key', title: 'Key', value: (row) => row.key, width: '8rem' },
            { id: 'message', sort: 'message', title: 'Message', value: (row) => row.message, width: 'minmax(14rem, 3fr)' },
            { id: 'agent', sort: 'user_agent', title: 'Client', value: (row) => row.user_agent, width: 'minmax(8rem, 1fr)' },
          ]}
        />
      </Section>
      <ModalOverlay isOpen={shown !== undefined} isDismissable onOpenChange={(open) => !open && show(undefined)} className="overlay">
        <Modal className="modal">
          <Dialog>
            <Heading slot="title">{shown?.reason}</Heading>
            <p><bdi>{shown?.message}</bdi></p>
            <Code text={shown?.body ?? 'The log lost this body.'} label="Body" />
            {shown?.http && <Code text={shown.http} label="Request" />}
            <button type="button" onClick={() => show(undefined)}>Close</button>
          </Dialog>
        </Modal>
      </ModalOverlay>
    </Page>
  );
}

function Retry({ many }: { many: number }) {
  const retry = useMutation({
    mutationFn: () => request<RetryResult>('/api/headwater/v1/rejected/retry', { limit: LIMIT }, { method: 'POST' }),
    onSuccess: () => queryClient.invalidateQueries(),
  });
  return (
    <div className="retry">
      <button type="button" disabled={retry.isPending} onClick={() => retry.mutate()}>Send {count(many)} again</button>{' '}
      <span className="hint">Headwater processes them like new requests. If this server has keys, your key needs the role admin.</span>
      {retry.data && (
        <p role="status">
          {count(retry.data.sent)} sent, {count(retry.data.accepted)} accepted, {count(retry.data.refused)} refused{retry.data.reasons.length > 0 && ': '}
          <bdi>{retry.data.reasons.join(' ')}</bdi>
        </p>
      )}
      {retry.error && <Failure error={retry.error} />}
    </div>
  );
}
