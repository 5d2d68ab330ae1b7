use super::{Postgres, fault::Fault};
use crate::{
    domain::Result,
    store::vectors::{TextHash, Vectors},
};

/// A claim that is older belongs to a process that died.
const STALE: &str = "interval '60 seconds'";

fn bytes(hashes: &[TextHash]) -> Vec<&[u8]> {
    hashes.iter().map(<[u8; 32]>::as_slice).collect()
}

impl Vectors for Postgres {
    fn get_many(&self, model: &str, hashes: &[TextHash]) -> Result<Vec<(TextHash, Vec<u8>)>> {
        self.read(|db| {
            let rows = db.query(
                "SELECT hash, vector FROM vectors WHERE model = $1 AND hash = ANY ($2)",
                &[&model, &bytes(hashes)],
            )?;
            rows.iter().map(|row| Ok((super::value::hash(row, 0)?, row.try_get(1)?))).collect()
        })
    }

    fn claim(&self, model: &str, hashes: &[TextHash]) -> Result<Vec<TextHash>> {
        // Without the lock on the library: nothing here is in the change log.
        self.write_aside(|db| {
            db.execute(
                "INSERT INTO vector_queue (model, hash)
                 SELECT $1, wanted.hash FROM unnest($2::bytea[]) AS wanted (hash)
                 WHERE NOT EXISTS
                     (SELECT 1 FROM vectors v WHERE v.model = $1 AND v.hash = wanted.hash)
                 ORDER BY wanted.hash
                 ON CONFLICT DO NOTHING",
                &[&model, &bytes(hashes)],
            )?;
            let rows = db.query(
                &format!(
                    "UPDATE vector_queue q SET claimed = now() FROM
                         (SELECT hash FROM vector_queue
                          WHERE model = $1 AND hash = ANY ($2)
                            AND (claimed IS NULL OR claimed < now() - {STALE})
                          ORDER BY hash FOR UPDATE SKIP LOCKED) AS free
                     WHERE q.model = $1 AND q.hash = free.hash RETURNING q.hash"
                ),
                &[&model, &bytes(hashes)],
            )?;
            rows.iter().map(|row| super::value::hash(row, 0)).collect::<Result<_, Fault>>()
        })
    }

    fn put(&self, model: &str, vectors: &[(TextHash, Vec<u8>)]) -> Result<()> {
        let hashes: Vec<&[u8]> = vectors.iter().map(|(hash, _)| hash.as_slice()).collect();
        let values: Vec<&[u8]> = vectors.iter().map(|(_, vector)| vector.as_slice()).collect();
        self.write_aside(|db| {
            db.execute(
                "INSERT INTO vectors (model, hash, vector)
                 SELECT $1, made.hash, made.vector
                 FROM unnest($2::bytea[], $3::bytea[]) AS made (hash, vector)
                 ORDER BY made.hash ON CONFLICT DO NOTHING",
                &[&model, &hashes, &values],
            )?;
            db.execute(
                "DELETE FROM vector_queue WHERE model = $1 AND hash = ANY ($2)",
                &[&model, &hashes],
            )
        })?;
        Ok(())
    }

    fn release(&self, model: &str, hashes: &[TextHash]) -> Result<()> {
        self.write_aside(|db| {
            db.execute(
                "UPDATE vector_queue SET claimed = NULL WHERE model = $1 AND hash = ANY ($2)",
                &[&model, &bytes(hashes)],
            )
        })?;
        Ok(())
    }
}
