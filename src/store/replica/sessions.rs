use super::{Replica, tokens::remember};
use crate::{
    domain::{Result, Timestamp, UserId},
    store::{
        postgres,
        sessions::{NewSession, Session, Sessions},
        tokens::Holder,
    },
};

impl Sessions for Replica {
    fn open(&self, hash: &[u8; 32], session: &NewSession) -> Result<Session> {
        self.write(|remote| Sessions::open(remote, hash, session))
    }

    fn find(&self, hash: &[u8; 32], now: Timestamp) -> Result<Option<(Session, Holder)>> {
        let answer = self.write(|remote| Sessions::find(remote, hash, now));
        let known = remember(&self.remembered.sessions, *hash, answer)?;
        Ok(known.filter(|(session, _)| now < session.expires))
    }

    fn touch(&self, id: i64, seen: Timestamp, expires: Timestamp) -> Result<()> {
        match self.write(|remote| remote.touch(id, seen, expires)) {
            // A reader is not turned away because the visit cannot be noted.
            Err(error) if postgres::is_away(&error) => Ok(()),
            answer => answer,
        }
    }

    fn of_user(&self, user: UserId, now: Timestamp) -> Result<Vec<Session>> {
        self.write(|remote| remote.of_user(user, now))
    }

    fn end(&self, user: UserId, id: i64) -> Result<bool> {
        self.write(|remote| remote.end(user, id))
    }

    fn end_all(&self, user: UserId, except: Option<i64>) -> Result<usize> {
        self.write(|remote| remote.end_all(user, except))
    }

    fn prune(&self, now: Timestamp) -> Result<usize> {
        self.write(|remote| remote.prune(now))
    }
}
